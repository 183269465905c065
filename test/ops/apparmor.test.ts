// Only in test:all: on an older Debian it fetches AppArmor's parser of a newer one.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { needs } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const PROFILE = "ops/apparmor/sealift-runtime";
/** Rules of AppArmor 4, the first that knows `userns`; beside them are files that profiles include. */
const ABI = "etc/apparmor.d/abi/4.0";
/** The Debian whose parser is taken where this machine's is too old. */
const NEWER = "trixie";

interface Parser {
  command: readonly string[];
  /** Folder with `etc/apparmor.d`. */
  root: string;
}

/** Unpacks a newer Debian's parser and libc below a folder. Needs the Debian that this machine installs from. */
function fetchParser(folder: string): Parser {
  const ours = ["--format", "$(REPO_URI)", "Identifier: Packages", "Component: main", "Label: Debian"];
  const [site] = execFileSync("apt-get", ["indextargets", ...ours], { encoding: "utf8" }).split("\n");
  for (const name of ["lists/partial", "cache/archives/partial", "root"])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "sources.list"), `deb ${site} ${NEWER} main\n`);
  const settings = {
    "Dir::Etc::sourcelist": join(folder, "sources.list"),
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::State::lists": join(folder, "lists"),
    "Dir::Cache": join(folder, "cache"),
    "APT::Sandbox::User": "",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  execFileSync("apt-get", [...options, "update"], { stdio: "pipe" });
  execFileSync("apt-get", [...options, "download", "apparmor", "libc6"], { cwd: folder, stdio: "pipe" });
  const root = join(folder, "root");
  for (const file of globSync(join(folder, "*.deb"))) execFileSync("dpkg-deb", ["--extract", file, root]);
  // It runs by its own loader and libc: this machine's may be older than it needs.
  const [loader = ""] = globSync(join(root, "usr/lib*/**/ld-linux-*.so.*"));
  const [libc = ""] = globSync(join(root, "usr/lib/*/libc.so.6"));
  return { root, command: [loader, "--library-path", join(libc, ".."), join(root, "usr/sbin/apparmor_parser")] };
}

t.test("AppArmor's parser reads the profile", { skip: needs("apparmor_parser", "apt-get", "dpkg-deb") }, (t) => {
  const folder = temporaryFolder(t);
  const { root, command } = existsSync(join("/", ABI))
    ? { root: "/", command: ["apparmor_parser"] }
    : fetchParser(folder);
  const features = join(root, ABI);
  const words = [
    "--skip-kernel-load",
    "--skip-cache",
    "--kernel-features",
    features,
    "--base",
    join(root, ABI, "../.."),
  ];
  const parse = (file: string, ...more: string[]) => {
    const [program, ...first] = command;
    return spawnSync(program!, [...first, ...words, ...more, file], { encoding: "utf8" });
  };

  const read = parse(PROFILE, "--debug");
  t.equal(read.status, 0, read.stderr);
  // Nothing attaches it but its name, and it confines nothing.
  t.match(read.stdout, /^Name:\t+sealift-runtime\n(?!Attachment)/m);
  t.match(read.stdout + read.stderr, "Mode: unconfined");
  t.match(read.stdout, /^userns,$/m);

  const misspelt = join(folder, "misspelt");
  writeFileSync(misspelt, readFileSync(PROFILE, "utf8").replace("userns,", "usernamespaces,"));
  t.not(parse(misspelt).status, 0, "the parser looks at the rules");
  t.end();
});
