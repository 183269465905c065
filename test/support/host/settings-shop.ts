/** A project with an application, its operator and its hosts: hub, watches and `app serve` are real programs. */
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { freePort } from "../free-port.ts";
import { type CommandEnded, type Running, start } from "../programs/watch-program.ts";
import { World } from "./world.ts";

/** Values that readers of settings differ about, unless they are quoted well. */
export const ODD_VALUES: Readonly<Record<string, string>> = {
  MORE_PEM: `-----BEGIN PRIVATE KEY-----\n${"MC4CAQAwBQYDK2VwBCIEIA+/=".repeat(4)}\n-----END PRIVATE KEY-----`,
  MORE_EMOJI: "\u{1F6A2} cafe\u0301 \u05d0",
  MORE_SINGLE: "it's",
  MORE_DOUBLE: 'say "x", $HOME ${PATH} %n \\t',
  MORE_BOTH: `it's "both"`,
  MORE_JSON: '{"url":"postgres://u:p@h/d?a=b#c","list":[1,2]}',
  MORE_SPACES: "  two before, two after  ",
  MORE_HASH: "a #b",
  MORE_LONG: "0123456789abcde ".repeat(2500),
};

/** Dies of a `LOG_LEVEL` of bad; else says what it was given, and who it is. */
export const SHOP_SERVER = `if (process.env.LOG_LEVEL === "bad") process.exit(1);
const { SECRET: secret, LOG_LEVEL: level } = process.env;
const more = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("MORE_")));
const given = { secret, level, ...(Object.keys(more).length > 0 && { more }) };
require("node:http").createServer(({ url }, answer) =>
  answer.end(JSON.stringify(url === "/pid" ? process.pid : given))).listen({ fd: 3 });
`;
export const SHOP_APP = `command: [node, server.js]
listen: [http]
health: { http: /, within: 20s, stays_up: 1s }
environment: { required: [SECRET], optional: [LOG_LEVEL, ${Object.keys(ODD_VALUES).join(", ")}] }
`;
const isRoot = process.getuid?.() === 0;

export interface ShopHost {
  name: string;
  root: string;
  /** Folder of its keys and its watch.yaml. */
  folder: string;
  watch: Running;
  serve: Running;
  /** Asks its application for what it was given. */
  answer: () => Promise<unknown>;
  /** Asks its application for its process. */
  pid: () => Promise<number>;
  /** Starts a watch again in place of one that has ended. */
  watchAgain: () => Running;
}

interface HostOptions {
  /** Address of the hub for this host; the hub's own by default. */
  url?: string;
  /** Options of its watch. */
  watch?: readonly string[];
}

interface ShopOptions {
  /** Number of hosts of its invite. */
  uses?: number;
  secret?: string;
  /** Names that its application may be given, beside `SECRET` and `LOG_LEVEL`. */
  optional?: readonly string[];
  /** Options of its hub. */
  hubArgs?: readonly string[];
}

/** Makes a project with the application `web`, and the commands of its operator. */
export async function settingsShop(t: Test, options: ShopOptions = {}) {
  const { uses = 2, secret = "planted-c0ffee-\u{1F6A2}", optional = [], hubArgs = [] } = options;
  const world = await World.make();
  t.teardown(() => world[Symbol.asyncDispose]());
  // Started again, so that all of what it says is heard.
  await world.programs.stop();
  const listen = ["--listen", new URL(world.hubUrl).host];
  const hub = start(t, "hub-serve", ["--data-dir", world.path("hub"), ...listen, ...hubArgs, "--json"]);
  await hub.untilEvent("ready");
  await chmod(world.folder, 0o755);
  const env: Record<string, string> = { ...world.admin, XDG_CONFIG_HOME: world.path("config"), HOME: world.folder };
  const sealift = (...words: string[]): Promise<CommandEnded> =>
    start(t, "sealift", words, { cwd: world.folder, env }).ended;
  const source = world.path("shop");
  for (const folder of ["deployment", "apps/web"]) await mkdir(join(source, folder), { recursive: true });
  const plan = `format_version: "1"\nproject_id: ${world.projectId}\nsteps: [{id: web, action: install_app, app: web}]\n`;
  await writeFile(join(source, "deployment/install.yaml"), plan);
  const app = SHOP_APP.replace("LOG_LEVEL", ["LOG_LEVEL", ...optional].join(", "));
  await writeFile(join(source, "apps/web/app.yaml"), app);
  await writeFile(join(source, "apps/web/server.js"), SHOP_SERVER);
  const publish = async (version: string): Promise<void> => {
    const signing = ["--signing-key-file", world.path("keys", "signer.key")];
    const words = ["--project-id", world.projectId, "--version", version, ...signing];
    const published = await sealift("project", "publish", source, ...words);
    t.match(published, { code: 0 }, published.stderr);
  };
  await publish("1.0.0");
  t.match(await sealift("signer", "create", "--out", "operator"), { code: 0 });
  const key = ["--operator-key", "operator/signer.key"];
  const invite = async (file: string, ...more: string[]): Promise<string> => {
    const made = await sealift("host", "invite", "--project", "Harbour", "--label", "env=prod", ...key, ...more);
    t.match(made.stdout, /^sjt_[\w-]{43}\.[0-9a-f]{32}\.[0-9a-f]{32}-[\w-]{43}\n$/, made.stderr);
    await writeFile(world.path(file), made.stdout);
    return made.stdout.trim();
  };
  await invite("line", "--uses", String(uses));

  const host = async (name: string, { url = world.hubUrl, watch: more = [] }: HostOptions = {}): Promise<ShopHost> => {
    const [port, root, folder] = [await freePort(), world.path(`${name}-root`), world.path(name)];
    await mkdir(root);
    const user = isRoot ? ["--user", "nobody"] : ["--same-user"];
    const joined = await sealift(
      ...["join", url, "--token-file", "line", "--host-id", name, "--out", name, "--project-root", root],
      ...["--yes", "--allow", "web", "--listen", `http=${port}`, ...user],
    );
    t.match(joined, { code: 0 }, joined.stderr);
    const serve = start(t, "sealift", ["app", "serve", "--project-root", root, "--json"]);
    await serve.untilEvent("ready");
    const watchAgain = (): Running =>
      start(t, "sealift", ["watch", "--config", join(name, "watch.yaml"), "--json", ...more], { cwd: world.folder });
    const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).then((one) => one.json());
    const pid = async (): Promise<number> => (await ask("/pid")) as number;
    return { name, root, folder, watch: watchAgain(), serve, answer: () => ask("/"), pid, watchAgain };
  };

  /** Writes what all hosts of the invite get. */
  const write = (level: string): Promise<void> =>
    writeFile(
      world.path("fleet.yaml"),
      `project: Harbour\nsettings:\n  - match: { env: prod }\n    apps:\n      web: { LOG_LEVEL: ${level}, SECRET: { file: secret } }\n`,
    );
  const apply = async (level: string, ...more: string[]): Promise<CommandEnded> => {
    await write(level);
    return sealift("settings", "apply", "fleet.yaml", ...key, "--accept-new", "--wait", "120s", ...more);
  };
  await writeFile(world.path("secret"), `${secret}\n`);
  return { world, hub, env, sealift, publish, invite, host, write, apply, key, secret };
}

/** Lists the files of a folder that hold a text. */
export async function filesWith(folder: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(path)).includes(text)) found.push(path.slice(folder.length + 1));
  }
  return found.sort();
}
