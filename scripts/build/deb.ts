/**
 * `npm run build:deb`: makes `sealift_VERSION_ARCH.deb` of the single executable that `npm run build:sea` has made in
 * the same folder (argument; default: here). Two runs give the same bytes: times are `SOURCE_DATE_EPOCH`, or that of
 * the last commit.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { planUnits, SYSTEMD_SERVICES } from "../../lib/support/systemd/units.ts";
import packageJson from "../../package.json" with { type: "json" };
import { scriptArguments } from "../arguments.ts";
import { buildTime, PLATFORMS, requireProcessor } from "./platforms.ts";
import { step } from "./step.ts";

const { chmodSync, globSync, readFileSync, statSync } = fs;

const MAINTAINER = `${packageJson.author} <maintainers@sealift.example>`;
/** Folders of packages for systemd, polkit and the like; `sealift systemd install` writes to those in /etc. */
const PACKAGED: readonly (readonly [from: string, to: string])[] = [
  ["/etc/systemd/system/", "/lib/systemd/system/"],
  ["/etc/sysusers.d/", "/usr/lib/sysusers.d/"],
  ["/etc/tmpfiles.d/", "/usr/lib/tmpfiles.d/"],
  ["/etc/polkit-1/", "/usr/share/polkit-1/"],
];
const COMPLETIONS: Readonly<Record<string, string>> = {
  bash: "bash-completion/completions/sealift",
  zsh: "zsh/vendor-completions/_sealift",
  fish: "fish/vendor_completions.d/sealift.fish",
};
const CONFIGURATION: Readonly<Record<string, string>> = {
  "/etc/sealift/hub/sealift.yaml":
    "# Options of the hub: sealift hub serve --help\n# listen: 0.0.0.0:8787\n# Everyone may read this file: a database_url with a password belongs in /etc/credstore/sealift-hub.database-url.\n",
  "/etc/sealift/mirror/sealift.yaml":
    "# Options of the mirror: sealift mirror serve --help\n# hub_url: https://hub.example.org\n# listen: 0.0.0.0:8788\n",
};

const { values, positionals } = scriptArguments(import.meta.filename, {
  allowPositionals: true,
  options: {
    arch: { type: "string", default: process.arch },
    compression: { type: "string", default: "xz" },
  },
});
const target = resolve(positionals[0] ?? ".");
const architecture = PLATFORMS[requireProcessor(values.arch)].debian;
// A pre-release is older than its release. The 1 counts packages of one version.
const version = `${packageJson.version.replace("-", "~")}-1`;
const epoch = buildTime();

const program = join(target, `sealift-${packageJson.version}-linux-${values.arch}`);
if (!fs.existsSync(program)) {
  console.error(`${program} is missing: \`npm run build:sea\` makes it, in the same folder.`);
  process.exit(1);
}

const folder = fs.mkdtempSync(join(tmpdir(), "sealift-deb-"));

function write(path: string, content: string | Buffer, mode = 0o644): void {
  const file = join(folder, path);
  fs.mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  fs.writeFileSync(file, content);
  chmodSync(file, mode);
}

/** Compresses without a time, as for Debian's documents and manual. */
const compressed = (content: string | Buffer): Buffer => gzipSync(content, { level: 9 });

async function fill(): Promise<void> {
  fs.mkdirSync(join(folder, "usr/bin"), { recursive: true });
  chmodSync(folder, 0o755);
  fs.copyFileSync(program, join(folder, "usr/bin/sealift"));
  chmodSync(join(folder, "usr/bin/sealift"), 0o755);
  for (const name of Object.keys(packageJson.bin))
    if (name !== "sealift") fs.symlinkSync("sealift", join(folder, "usr/bin", name));

  for (const page of globSync("dist/man/*.1"))
    write(`usr/share/man/man1/${basename(page)}.gz`, compressed(readFileSync(page)));
  for (const [shell, path] of Object.entries(COMPLETIONS))
    write(`usr/share/${path}`, execFileSync(process.execPath, ["dist/bin/sealift.js", "completion", shell]));

  const units = await planUnits({
    services: SYSTEMD_SERVICES,
    node: "/usr/bin/sealift",
    packageFolder: undefined,
    projectRoot: "/srv/sealift",
    root: folder,
  });
  for (const { path, content } of units) {
    const [from, to] = PACKAGED.find(([from]) => path.startsWith(from))!;
    // Its first line says that a command wrote it.
    write(path.replace(from, to), content.slice(content.indexOf("\n") + 1));
  }
  for (const [path, content] of Object.entries(CONFIGURATION)) write(path, content);

  const documents = "usr/share/doc/sealift";
  // Older parsers than Ubuntu's fail at it, and would fail at each start of the machine.
  write(`${documents}/apparmor/sealift-runtime`, readFileSync("ops/apparmor/sealift-runtime"));
  const at = new Date(epoch * 1000).toUTCString().replace("GMT", "+0000");
  const entry = `sealift (${version}) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- ${MAINTAINER}  ${at}\n`;
  write(`${documents}/changelog.Debian.gz`, compressed(entry));
  write(`${documents}/changelog.gz`, compressed(readFileSync("CHANGELOG.md")));
  write(`${documents}/copyright`, copyright());
  write(`${documents}/THIRD-PARTY-LICENCES.txt.gz`, compressed(readFileSync("dist/THIRD-PARTY-LICENCES.txt")));
  write("usr/share/lintian/overrides/sealift", LINTIAN);
}

const copyright = (): string => `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Sealift
Source: ${packageJson.homepage}

Files: *
Copyright: ${new Date(epoch * 1000).getUTCFullYear()} The Sealift authors
License: Apache-2.0
 On Debian systems, the full text of this licence is in
 /usr/share/common-licenses/Apache-2.0. The licences of Node.js and of the
 packages inside the program are in THIRD-PARTY-LICENCES.txt.gz.
`;

/** Lintian overrides of a program with an embedded interpreter. */
const LINTIAN = `sealift: embedded-library
sealift: hardening-no-pie
sealift: statically-linked-binary
sealift: initial-upload-closes-no-bugs
`;

function control(): void {
  const files = globSync(`${folder}/**/*`).filter((path) => fs.lstatSync(path).isFile());
  const size = files.reduce((sum, path) => sum + statSync(path).size, 0);
  write(
    "DEBIAN/control",
    `Package: sealift
Version: ${version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${Math.ceil(size / 1024)}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6, libatomic1
Recommends: bubblewrap
Suggests: postgresql
Section: admin
Priority: optional
Homepage: ${packageJson.homepage}
Description: publish plugins to a hub, deploy them to hosts, and run them
 A hub that stores signed artifacts, a publisher, a deployment agent with a
 watch loop, and a runtime for plugins: one program, with its manual,
 completions and systemd units.
`,
  );
  const relative = files
    .map((path) => path.slice(folder.length + 1))
    .filter((path) => !path.startsWith("etc/"))
    .toSorted();
  const lines = relative.map(
    (path) =>
      `${createHash("md5")
        .update(readFileSync(join(folder, path)))
        .digest("hex")}  ${path}\n`,
  );
  write("DEBIAN/md5sums", lines.join(""));
  write("DEBIAN/conffiles", `${Object.keys(CONFIGURATION).join("\n")}\n`);
  for (const [name, text] of Object.entries(SCRIPTS)) write(`DEBIAN/${name}`, `#!/bin/sh\nset -e\n${text}`, 0o755);
}

const UNITS = "sealift-hub.service sealift-mirror.service sealift-runtime.service 'sealift-watch@*.service'";

/** Units of applications, which `sealift systemd install app` has written: nothing starts them without the program. */
const APPLICATIONS = "'sealift-app@*.socket' 'sealift-app@*.service' sealift-apps.service";

/** Maintainer scripts: create users and folders, and restart running services. Data stays at a purge. */
const SCRIPTS: Readonly<Record<string, string>> = {
  postinst: `if [ "$1" = configure ]; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers sealift.conf
    systemd-tmpfiles --create sealift.conf
  fi
  if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload
    if [ -n "$2" ]; then systemctl try-restart ${UNITS}; fi
  fi
fi
`,
  prerm: `if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop ${UNITS} ${APPLICATIONS}
fi
if [ "$1" = remove ]; then
  for link in /etc/systemd/system/*.wants/sealift-app@* /etc/systemd/system/*.wants/sealift-apps.service; do
    if [ -L "$link" ]; then
      rm -f "$link"
      echo "Disabled $(basename "$link"): its program is gone. \`sealift systemd install app\` enables it again."
    fi
  done
fi
`,
  postrm: `if [ -d /run/systemd/system ]; then systemctl --system daemon-reload; fi
if [ "$1" = purge ]; then
  rm -rf /var/cache/sealift-mirror /var/cache/private/sealift-mirror
  rmdir --ignore-fail-on-non-empty /etc/sealift/hub /etc/sealift/mirror /etc/sealift 2>/dev/null || :
  echo "Left in place: /var/lib/sealift-hub, /var/lib/private/sealift-hub and /srv/sealift, with artifacts and keys;"
  echo "/etc/sealift/watch, with the keys of hosts; /etc/credstore/sealift-* and /etc/credstore.encrypted/sealift-*."
fi
`,
};

try {
  await step("collect the program, its manual, completions and units", fill);
  await step("write the control files", control);
  const output = join(target, `sealift_${version}_${architecture}.deb`);
  await step(`compress with ${values.compression}`, () => {
    for (const path of [...globSync(`${folder}/**/*`), folder]) fs.lutimesSync(path, epoch, epoch);
    execFileSync("dpkg-deb", ["--root-owner-group", `-Z${values.compression}`, "--build", folder, output], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
      stdio: ["ignore", "ignore", "inherit"],
    });
  });
  console.log(`${output}: ${statSync(output).size} bytes`);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
