// In a process of its own: it starts two hosts with all their programs.
/** One file gives two hosts their settings: hub, operator, watches, `app serve` and applications are real programs. */
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { freePort } from "../support/free-port.ts";
import { World } from "../support/host/world.ts";
import { type CommandEnded, type Running, start } from "../support/programs/watch-program.ts";

const SERVER = `if (process.env.LOG_LEVEL === "bad") process.exit(1);
const { SECRET: secret, LOG_LEVEL: level } = process.env;
require("node:http").createServer((_, answer) => answer.end(JSON.stringify({ secret, level }))).listen({ fd: 3 });
`;
const APP = `command: [node, server.js]
listen: [http]
health: { http: /, within: 20s, stays_up: 1s }
environment: { required: [SECRET], optional: [LOG_LEVEL] }
`;
const SECRET = "planted-c0ffee-\u{1F6A2}";
const isRoot = process.getuid?.() === 0;

interface Host {
  name: string;
  root: string;
  watch: Running;
  answer: () => Promise<unknown>;
}

/** A project with an application, and the commands of its operator. */
async function shop(t: Test) {
  const world = await World.make();
  t.teardown(() => world[Symbol.asyncDispose]());
  await chmod(world.folder, 0o755);
  const sealift = async (...words: string[]): Promise<CommandEnded> => {
    const env = { ...world.admin, XDG_CONFIG_HOME: world.path("config"), HOME: world.folder };
    return start(t, "sealift", words, { cwd: world.folder, env }).ended;
  };
  const source = world.path("shop");
  for (const folder of ["deployment", "apps/web"]) await mkdir(join(source, folder), { recursive: true });
  const plan = `format_version: "1"\nproject_id: ${world.projectId}\nsteps: [{id: web, action: install_app, app: web}]\n`;
  await writeFile(join(source, "deployment/install.yaml"), plan);
  await writeFile(join(source, "apps/web/app.yaml"), APP);
  await writeFile(join(source, "apps/web/server.js"), SERVER);
  const signing = ["--signing-key-file", world.path("keys", "signer.key")];
  const published = await sealift(
    "project",
    "publish",
    source,
    "--project-id",
    world.projectId,
    "--version",
    "1.0.0",
    ...signing,
  );
  t.match(published, { code: 0 }, published.stderr);
  t.match(await sealift("signer", "create", "--out", "operator"), { code: 0 });
  const key = ["--operator-key", "operator/signer.key"];
  const invite = await sealift("host", "invite", "--project", "Harbour", "--uses", "2", "--label", "env=prod", ...key);
  t.match(invite.stdout, /^sjt_[\w-]{43}\.[0-9a-f]{32}\.[0-9a-f]{32}-[\w-]{43}\n$/, invite.stderr);
  await writeFile(world.path("line"), invite.stdout);

  const host = async (name: string): Promise<Host> => {
    const [port, root] = [await freePort(), world.path(`${name}-root`)];
    await mkdir(root);
    const user = isRoot ? ["--user", "nobody"] : ["--same-user"];
    const joined = await sealift(
      ...["join", world.hubUrl, "--token-file", "line", "--host-id", name, "--out", name, "--project-root", root],
      ...["--yes", "--allow", "web", "--listen", `http=${port}`, ...user],
    );
    t.match(joined, { code: 0 }, joined.stderr);
    await start(t, "sealift", ["app", "serve", "--project-root", root, "--json"]).untilEvent("ready");
    const watch = start(t, "sealift", ["watch", "--config", join(name, "watch.yaml"), "--json"], { cwd: world.folder });
    const answer = () => fetch(`http://127.0.0.1:${port}`).then((one) => one.json());
    return { name, root, watch, answer };
  };
  const apply = (level: string, ...more: string[]): Promise<CommandEnded> =>
    writeFile(
      world.path("fleet.yaml"),
      `project: Harbour\nsettings:\n  - match: { env: prod }\n    apps:\n      web: { LOG_LEVEL: ${level}, SECRET: { file: secret } }\n`,
    ).then(() => sealift("settings", "apply", "fleet.yaml", ...key, "--accept-new", "--wait", "120s", ...more));
  await writeFile(world.path("secret"), `${SECRET}\n`);
  return { world, sealift, host, apply };
}

/** Lists the files of a folder that hold a text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(path)).includes(text)) found.push(path.slice(folder.length + 1));
  }
  return found.sort();
}

t.test("two hosts get their settings from one file, and a value that breaks the application reaches one", async (t) => {
  const { world, sealift, host, apply } = await shop(t);
  const hosts = [await host("pier-7"), await host("pier-8")];
  for (const { watch } of hosts) await watch.untilEvent("deploy.done", { outcome: "failed", code: "env_missing" });
  for (const { watch } of hosts) await watch.untilEvent("target.held", { reason: "settings", version: "1.0.0" });

  const first = await apply("info");
  t.match(first, { code: 0, stderr: /✓ pier-\d: applied number 1[^]*✓ pier-\d: applied number 1/ }, first.stderr);
  t.notMatch(first.stdout + first.stderr, SECRET);
  for (const { watch } of hosts) await watch.untilEvent("deploy.done", { outcome: "deployed" });
  for (const { answer } of hosts) t.strictSame(await answer(), { secret: SECRET, level: "info" });
  for (const { watch } of hosts)
    t.equal(
      watch.said.events.filter(({ event, code }) => event === "deploy.done" && code === "env_missing").length,
      1,
      "a version that waits for settings is not fetched again",
    );

  const broken = await apply("bad");
  t.match(
    broken,
    { code: 1, stderr: /settings_failed[^]*has its former ones back\. 1 host of a later wave/ },
    broken.stderr,
  );
  for (const { answer } of hosts) t.strictSame(await answer(), { secret: SECRET, level: "info" });
  t.equal(hosts.filter(({ watch }) => watch.said.stdout.includes('"settings.done","number":2')).length, 1);
  t.match(await sealift("settings", "show"), { code: 0, stdout: /pier-\d +2 +failed, former ones are back/ });

  const mended = await apply("debug");
  t.match(mended, { code: 0 }, mended.stderr);
  for (const { answer } of hosts) t.strictSame(await answer(), { secret: SECRET, level: "debug" });
  t.match(await apply("debug"), { code: 0, stderr: /No host needs new settings/ });
  for (const { watch } of hosts)
    t.equal(
      watch.said.events.filter(({ event, outcome }) => event === "deploy.done" && outcome === "deployed").length,
      1,
      "settings are no deployment",
    );

  t.strictSame(await filesWith(world.path("hub"), SECRET), [], "the hub has nothing of it");
  const state = `.sealift/state/settings-project-${world.projectId}.json`;
  for (const { root, watch } of hosts) {
    t.strictSame(await filesWith(root, SECRET), [state, "apps/web.env"].sort());
    t.notMatch(watch.said.stdout + watch.said.stderr, SECRET);
  }
});
