// Only in test:all: units of every kind, each read by systemd.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { optionsByName } from "../../lib/options/all.ts";
import { needs } from "../support/programs/optional.ts";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = join(PACKAGE, "dist/bin/sealift.js");
const SOURCE = join(PACKAGE, "bin/sealift.ts");
const UNITS = "etc/systemd/system";

function install(...args: string[]) {
  return run(BUILT, ...args);
}

function run(program: string, ...args: string[]) {
  const { NODE_OPTIONS: _options, ...env } = process.env;
  return spawnSync(process.execPath, [program, "systemd", "install", ...args], { encoding: "utf8", env, cwd: "/" });
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

const ALL = [
  "etc/polkit-1/rules.d/50-sealift-watch.rules",
  `${UNITS}/sealift-hub.service`,
  `${UNITS}/sealift-mirror.service`,
  `${UNITS}/sealift-runtime.service`,
  `${UNITS}/sealift-watch@.service`,
  "etc/sysusers.d/sealift.conf",
  "etc/tmpfiles.d/sealift.conf",
];

t.test("it writes what each service needs, for this Node and this installation", (t) => {
  const root = t.testdir({});
  const { status, stdout, stderr } = install("--root", root, "--project-root", "/srv/harbour");
  t.equal(status, 0, stderr);
  t.same(filesBelow(root), ALL);
  t.same(
    stdout.trim().split("\n").sort(),
    ALL.map((path) => join(root, path)),
  );
  for (const path of ALL) {
    const text = readFileSync(join(root, path), "utf8");
    t.notMatch(text, /\{\{/, `${path} has no placeholder left`);
    t.equal(statSync(join(root, path)).mode & 0o777, 0o644);
  }
  const unit = (name: string): string => readFileSync(join(root, UNITS, name), "utf8");
  t.match(unit("sealift-hub.service"), `\nExecStart=${process.execPath} ${join(PACKAGE, "dist/bin/hub-serve.js")}\n`);
  t.match(unit("sealift-mirror.service"), `${join(PACKAGE, "dist/bin/sealift.js")} mirror serve\n`);
  t.match(unit("sealift-watch@.service"), "\nReadWritePaths=/srv/harbour\n");
  t.match(unit("sealift-runtime.service"), "--config /srv/harbour/integration.yaml\n");

  const only = join(root, "only");
  t.equal(install("hub", "--root", only).status, 0);
  t.same(filesBelow(only), [`${UNITS}/sealift-hub.service`]);
  t.equal(install("nonsense", "--root", only).status, 2);
  t.end();
});

t.test("an image whose AppArmor knows user namespaces gets the profile of the runtime's unit", (t) => {
  const root = t.testdir({ etc: { "apparmor.d": { abi: { "4.0": "" } } } });
  const profile = "etc/apparmor.d/sealift-runtime";
  t.equal(install("hub", "watch", "--root", root).status, 0);
  t.notOk(existsSync(join(root, profile)), "the hub and the watch make no sandboxes");
  t.match(install("--root", root).stdout, `${join(root, profile)}\n`);
  t.match(
    readFileSync(join(root, profile), "utf8"),
    /^# Written by `sealift systemd install`.*\n[^]*^profile sealift-/m,
  );
  t.match(readFileSync(join(root, UNITS, "sealift-runtime.service"), "utf8"), "\nAppArmorProfile=-sealift-runtime\n");
  t.end();
});

t.test("the checkout and the build write the same", (t) => {
  const root = t.testdir({});
  t.equal(run(SOURCE, "--root", join(root, "source")).status, 0);
  t.equal(install("--root", join(root, "built")).status, 0);
  for (const path of ALL)
    t.equal(readFileSync(join(root, "source", path), "utf8"), readFileSync(join(root, "built", path), "utf8"), path);
  t.end();
});

t.test(
  "systemd finds nothing to complain about, and only the runtime is exposed by more than 2.5",
  { skip: needs("systemd-analyze") },
  (t) => {
    const root = t.testdir({});
    install("--root", root);
    for (const name of ["hub", "mirror", "runtime", "watch@"].map((service) => `sealift-${service}.service`)) {
      const path = join(root, UNITS, name);
      const verified = spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" });
      t.equal(verified.status, 0, name);
      // Complaints about other units of this machine are not ours.
      t.notMatch(verified.stderr, "sealift", name);
      if (name === "sealift-runtime.service") continue;
      const judged = spawnSync(
        "systemd-analyze",
        ["security", "--offline=true", "--no-pager", "--threshold=25", path],
        {
          encoding: "utf8",
        },
      );
      t.equal(judged.status, 0, judged.stdout.trim().split("\n").at(-1) ?? "");
      const [, exposure] = /exposure level for .*: (\d+\.\d)/.exec(judged.stdout) ?? [];
      t.ok(Number(exposure) <= 2.5, `${name}: ${exposure}`);
    }
    t.end();
  },
);

t.test("secrets are credentials that the programs look for, and never arguments or variables", (t) => {
  const root = t.testdir({});
  install("--root", root);
  const text = ALL.filter((path) => path.startsWith(UNITS)).map((path) => readFileSync(join(root, path), "utf8"));
  const credentials = text.join("\n").match(/(?<=^LoadCredential=)[^:\n]+/gm);
  t.same(credentials, [
    ...["kek", "database-url"],
    ...["PLUGIN_KEY", "SIGNING_KEY", "DATABASE_URL", "REDIS_URL"],
    ...["api-key", "deployment-credential", "signing-secret", "plugin-key", "plugin-secret-key"],
  ]);
  const options = credentials?.filter((name) => /^[a-z-]+$/.test(name) && name !== "kek");
  const optionNames = optionsByName();
  t.same(
    options?.filter((name) => !optionNames.has(name)),
    [],
    "names are those of options",
  );
  t.notMatch(text.join("\n"), /^(Exec\w+|Environment)=.*(key|secret|credential|token)/im);
  t.end();
});

t.test("files that were edited or are not ours are left alone, all of them, without --force", (t) => {
  const root = t.testdir({});
  install("--root", root);
  const hub = join(root, UNITS, "sealift-hub.service");
  const watch = join(root, UNITS, "sealift-watch@.service");
  const original = readFileSync(hub, "utf8");
  writeFileSync(hub, original.replace("WatchdogSec=60", "WatchdogSec=600"));
  const before = readFileSync(watch, "utf8");

  const refused = install("--root", root, "--project-root", "/srv/other", "--json");
  t.equal(refused.status, 2);
  t.match(JSON.parse(refused.stdout), { status: "failed", error: { code: "usage", faults: [hub] } });
  t.match(readFileSync(hub, "utf8"), "WatchdogSec=600");
  t.equal(readFileSync(watch, "utf8"), before, "the others wait, too");

  t.equal(install("--root", root, "--force").status, 0);
  t.equal(readFileSync(hub, "utf8"), original);

  const masked = join(root, "masked", UNITS);
  mkdirSync(masked, { recursive: true });
  symlinkSync("/dev/null", join(masked, "sealift-hub.service"));
  t.equal(install("hub", "--root", join(root, "masked")).status, 2, "a masked unit stays masked");
  t.end();
});

t.test("what it wrote itself it replaces, and says what is new", (t) => {
  const root = t.testdir({});
  const states = (result: { stdout: string }): unknown[] =>
    (JSON.parse(result.stdout) as { files: { state: string }[] }).files.map(({ state }) => state);
  t.same(new Set(states(install("watch", "--root", root, "--json"))), new Set(["new"]));
  t.same(new Set(states(install("watch", "--root", root, "--json"))), new Set(["unchanged"]));
  const before = readFileSync(join(root, UNITS, "sealift-watch@.service"), "utf8");
  const refused = install("watch", "--root", root, "--project-root", "/srv/other");
  t.match(refused, { status: 2, stderr: /Of another project root: .*sealift-watch@\.service, .*sealift\.conf/ });
  t.equal(readFileSync(join(root, UNITS, "sealift-watch@.service"), "utf8"), before);
  const moved = install("watch", "--root", root, "--project-root", "/srv/other", "--force", "--json");
  t.equal(moved.status, 0);
  t.same(new Set(states(moved)), new Set(["foreign", "unchanged"]));
  t.match(readFileSync(join(root, UNITS, "sealift-watch@.service"), "utf8"), "\nReadWritePaths=/srv/other\n");
  t.end();
});

t.test("a dry run prints the files and writes nothing", (t) => {
  const root = t.testdir({});
  const { status, stdout } = install("--dry-run", "--root", root);
  t.equal(status, 0);
  t.match(stdout, "ExecReload=kill -HUP $MAINPID");
  t.match(stdout, "polkit.addRule");
  t.same(filesBelow(root), []);
  const { files } = JSON.parse(install("--dry-run", "--root", root, "--json").stdout) as { files: { path: string }[] };
  t.same(
    files.map(({ path }) => path).sort(),
    ALL.map((path) => join(root, path)),
  );
  t.end();
});

const nobody = process.getuid?.() === 0 ? 65534 : undefined;
const asNobody = (...args: string[]) =>
  spawnSync(process.execPath, args, {
    encoding: "utf8",
    env: {},
    cwd: "/",
    ...(nobody !== undefined && { uid: nobody }),
  });
const cannotRead = asNobody("-e", `fs.accessSync(${JSON.stringify(BUILT)})`).status !== 0;

t.test(
  "a user who may not look below /etc can still do a dry run",
  { skip: cannotRead && "nobody sees the checkout" },
  (t) => {
    const root = t.testdir({ etc: {} });
    chmodSync(join(root, "etc"), 0);
    const command = [BUILT, "systemd", "install", "--root", root];
    const dry = asNobody(...command, "--dry-run");
    t.equal(dry.status, 0, dry.stderr);
    t.match(dry.stdout, "polkit.addRule");
    t.equal(asNobody(...command).status, 2);
    chmodSync(join(root, "etc"), 0o755);
    t.end();
  },
);

t.test("paths that a unit would misread are refused, and those that it cannot see are named", (t) => {
  const root = t.testdir({});
  for (const path of ["/srv/a b", "/srv/50%", "/srv/$HOME", "/srv/a\nExecStartPre=/bin/x", '/srv/"', "/"]) {
    t.equal(install("--root", root, "--project-root", path).status, 2, JSON.stringify(path));
  }
  t.same(filesBelow(root), []);
  const { stderr } = install("--root", root, "--project-root", "/home/me/app");
  t.match(stderr, "The units cannot see the project root at /home/me/app");
  t.end();
});

t.test("an installation that was never built says so", (t) => {
  const folder = t.testdir({});
  for (const part of ["bin", "commands", "lib", "scripts/systemd", "package.json"])
    cpSync(join(PACKAGE, part), join(folder, part), { recursive: true });
  symlinkSync(join(PACKAGE, "node_modules"), join(folder, "node_modules"));
  const { status, stderr } = run(join(folder, "bin/sealift.ts"), "--root", join(folder, "root"));
  t.equal(status, 2);
  t.match(stderr, "npm run build");
  t.notOk(existsSync(join(folder, "root")));
  t.end();
});

/** The rule as polkit runs it: with an action and a subject, and what it may return. */
function judge(
  rules: string,
  unit: string | undefined,
  verb: string | undefined,
  user = "sealift-watch",
  id = "manage-units",
) {
  let decide: ((action: unknown, subject: unknown) => string) | undefined;
  const polkit = {
    Result: { YES: "yes", NOT_HANDLED: "not handled" },
    addRule: (rule: typeof decide) => (decide = rule),
  };
  // oxlint-disable-next-line typescript/no-implied-eval, typescript/no-unsafe-call
  new Function("polkit", rules)(polkit);
  const details: Record<string, string | undefined> = { unit, verb };
  const action = { id: `org.freedesktop.systemd1.${id}`, lookup: (name: string) => details[name] };
  return decide!(action, { user });
}

t.test("the watch's user may start, stop, restart and reload units of plugins, and nothing else", (t) => {
  const root = t.testdir({});
  install("watch", "--root", root);
  const rules = readFileSync(join(root, "etc/polkit-1/rules.d/50-sealift-watch.rules"), "utf8");
  for (const verb of ["start", "stop", "restart", "reload"])
    t.equal(judge(rules, "sealift-plugin-tide-table.service", verb), "yes", verb);
  for (const verb of ["kill", "set-property", "reset-failed", "clean", "try-restart", "", undefined])
    t.equal(judge(rules, "sealift-plugin-tide-table.service", verb), "not handled", String(verb));
  for (const unit of [
    "sshd.service",
    "sealift-hub.service",
    "x-sealift-plugin-a.service",
    "sealift-plugin-.service",
    "sealift-plugin-a.socket",
    "sealift-plugin-a.service\nsshd.service",
    "sshd.service\nsealift-plugin-a.service",
    undefined,
  ])
    t.equal(judge(rules, unit, "restart"), "not handled", String(unit));
  for (const unit of ["sealift-app@web.service", "sealift-app@web.socket"]) {
    for (const verb of ["start", "stop", "restart", "reset-failed"]) t.equal(judge(rules, unit, verb), "yes", verb);
    for (const verb of ["reload", "kill", "clean", undefined])
      t.equal(judge(rules, unit, verb), "not handled", String(verb));
  }
  for (const unit of [
    "sealift-app@.service",
    "sealift-app@web.timer",
    "x-sealift-app@web.service",
    "sealift-app-web.service",
  ])
    t.equal(judge(rules, unit, "restart"), "not handled", unit);
  t.equal(judge(rules, "sealift-plugin-a.service", "restart", "nobody"), "not handled");
  for (const id of ["manage-unit-files", "reload-daemon", "set-environment"])
    t.equal(judge(rules, "sealift-plugin-a.service", "restart", "sealift-watch", id), "not handled", id);
  t.end();
});

const asRoot = { skip: process.getuid?.() === 0 ? false : "only root can give a folder away" };

t.test("it says that the applications' unit refuses a root of another user, before it is installed", asRoot, (t) => {
  const root = t.testdir({ sealift: {} });
  const warningsFor = (...words: string[]): string[] => {
    const { status, stdout, stderr } = install(...words, "--project-root", `${root}/sealift`, "--dry-run", "--json");
    t.equal(status, 0, stderr);
    return (JSON.parse(stdout) as { warnings: string[] }).warnings.filter((line) => line.startsWith("sealift-apps"));
  };
  t.same(warningsFor("apps"), [], "root's");
  chownSync(`${root}/sealift`, 65_534, 65_534);
  t.match(warningsFor("apps"), [/will not start: .* belongs to the user 65534.* systemd install app ID/]);
  t.same(warningsFor("watch"), []);
  t.match(warningsFor("apps", "watch"), [/refuses .*sealift, which the watch's user will own/]);
  t.end();
});
