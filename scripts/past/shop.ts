import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../test/support/free-port.ts";
import type { OldHub, Secrets } from "./old-hub.ts";

/** A project with applications, whose hosts follow a trust root; versions wait on them for each cause that there is. */
export interface Shop {
  id: string;
  publisher: Secrets;
  /** Port of `web` on `shop-1`, as its operator has granted it. */
  port: number;
}

/** Says its version; a file `ill` in its data makes it answer 503. */
const SERVER = `const { existsSync, readFileSync } = require("node:fs");
require("node:http")
  .createServer((request, answer) => {
    answer.statusCode = existsSync("storage/ill") ? 503 : 200;
    answer.end(readFileSync("version", "utf8") + " " + process.env.GREETING);
  })
  .listen({ fd: 3 });
process.on("SIGTERM", () => process.exit(0));
`;
const APP = `command: [node, server.js]
needs: { node: ">=18" }
listen: [http]
health: { http: /, within: 20s, stays_up: 1s }
migrate: [node, migrate.js]
data: storage
environment: { required: [GREETING], optional: [LEVEL] }
stop: { signal: SIGTERM, within: 5s }
`;
const WORKER = "command: [node, worker.js]\nhealth: { stays_up: 1s }\n";

/** Publishes a version: 1.2.0 has an application more, and a plugin with more rights. */
async function publish(hub: OldHub, { id, publisher }: Pick<Shop, "id" | "publisher">, version: string): Promise<void> {
  const source = hub.path("shop");
  const asksForMore = version === "1.2.0";
  const write = (path: string, text: string): void => {
    mkdirSync(join(source, path, ".."), { recursive: true });
    writeFileSync(join(source, path), text);
  };
  write("apps/web/app.yaml", APP);
  write("apps/web/server.js", SERVER);
  write("apps/web/migrate.js", `require("node:fs").appendFileSync("storage/migrated", "${version}\\n");\n`);
  write("apps/web/storage/seed", "from the publisher\n");
  write("apps/web/.env.template", "GREETING=ahoy\n");
  write("apps/web/version", version);
  const steps = ["{ id: web, action: install_app, app: web }", "{ id: till, action: install_plugin, plugin: till }"];
  if (asksForMore) {
    write("apps/worker/app.yaml", WORKER);
    write("apps/worker/worker.js", "setInterval(() => undefined, 1000);\n");
    steps.push("{ id: worker, action: install_app, app: worker }");
    const descriptor = join(source, "plugins/till/plugin.yaml");
    writeFileSync(descriptor, `${readFileSync(descriptor, "utf8")}network: ["till.example:443"]\n`);
  }
  const plan = `format_version: "1"\nproject_id: ${id}\nversion: ${version}\nsteps: [${steps.join(", ")}]\n`;
  write("deployment/install.yaml", plan);
  const signing = ["--signing-key-file", hub.path("keys/signer.key")];
  const args = [source, "--project-id", id, "--version", version, ...signing];
  await hub.programs.run("deploy-publish", args, publisher);
}

/** Begins a trust root at today's signer, and publishes its second version, which knows one more. */
async function rootOf(hub: OldHub, id: string): Promise<void> {
  const key = (name: string, half: "key" | "pub"): string => hub.path("keys", name, `signer.${half}`);
  for (const name of ["anna", "ben", "carol", "laptop"])
    await hub.programs.run("sealift", ["signer", "create", "--out", hub.path("keys", name)], {});
  const root = (number: number): string => hub.path("keys", `${number}.root.json`);
  const trust = (...words: string[]): Promise<unknown> => hub.sealift("trust", ...words);
  const names = ["anna", "ben", "carol"].flatMap((name) => ["--root-key", key(name, "pub")]);
  await trust("start", root(1), "--from-signer", hub.path("keys/signer.key"), ...names);
  for (const name of ["anna", "ben"]) await trust("sign", root(1), "--key", key(name, "key"));
  await trust("publish", root(1), id);
  await trust("change", root(1), "--add-signer", key("laptop", "pub"));
  for (const name of ["anna", "ben"]) await trust("sign", root(2), "--base", root(1), "--key", key(name, "key"));
  await trust("publish", root(2), id);
}

/** Waits until a file of a root's state says something. */
async function stated(hub: OldHub, host: string, file: string, says: string): Promise<void> {
  const path = join(hub.path("roots", host), ".sealift/state", file);
  const text = (): string => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return "";
    }
  };
  while (!text().includes(says)) await delay(100);
}

/** Publishes versions, and has hosts run them: `shop-1` is paused, `shop-2` and `shop-3` wait for 1.2.0. */
export async function shopOf(hub: OldHub): Promise<Shop> {
  const id = await hub.project("Shop");
  const publisher = await hub.newKey("shop", "--project", id, "--scope", "publish", "--scope", "read");
  await rootOf(hub, id);
  await hub.programs.run("sealift", ["plugin", "init", "till", "--directory", hub.path("shop/plugins/till")], {});
  const port = await freePort();
  const ports = { "shop-1": port, "shop-2": await freePort(), "shop-3": await freePort() };
  await publish(hub, { id, publisher }, "1.0.0");
  for (const [host, at] of Object.entries(ports)) await joined(hub, id, host, at);
  await publish(hub, { id, publisher }, "1.1.0");
  for (const host of Object.keys(ports)) await serving(hub, host, () => look(hub, host));

  await serving(hub, "shop-1", () => turnedIll(hub, id));
  await publish(hub, { id, publisher }, "1.2.0");
  const config = (host: string): string => hub.path("hosts", host, "watch.yaml");
  writeFileSync(hub.path("hosts/shop-1/policy.yaml"), "min_age: 365d\n");
  const target = `  - target: project:${id}\n`;
  const say = (host: string, more: string): void => {
    const text = readFileSync(config(host), "utf8");
    if (!text.includes(target)) throw new Error(`no target in ${text}`);
    writeFileSync(config(host), text.replace(target, target + more));
  };
  say("shop-1", "    policy: policy.yaml\n    accept_rights: true\n");
  say("shop-2", "    accept_rights: true\n");
  for (const [host, file] of [
    ["shop-1", "policy"],
    ["shop-2", "apps"],
    ["shop-3", "rights"],
  ] as const) {
    await look(hub, host).catch(() => undefined);
    await stated(hub, host, `${file}-project-${id}.json`, "1.2.0");
  }
  const place = ["--project-root", hub.path("roots/shop-1")];
  await hub.programs.run("sealift", ["watch", "pause", `project:${id}`, ...place], {});
  await look(hub, "shop-1").catch(() => undefined);
  await stated(hub, "shop-1", `watch-project-${id}.json`, '"paused":true');
  return { id, publisher, port };
}

const look = (hub: OldHub, host: string): Promise<unknown> =>
  hub.programs.run("watch", ["--config", hub.path("hosts", host, "watch.yaml"), "--once"], {});

/** Lets a host join by an invite, grants it `web`, and lets it deploy the first version. */
async function joined(hub: OldHub, id: string, host: string, port: number): Promise<void> {
  const { token } = await hub.sealift<{ token: string }>("host", "invite", "--project", id);
  const root = hub.path("roots", host);
  const where = ["--out", hub.path("hosts", host), "--project-root", root, "--host-id", host];
  await hub.programs.run("sealift", ["join", hub.url, "--yes", ...where], { SEALIFT_TOKEN: token });
  mkdirSync(root, { recursive: true });
  chmodSync(root, 0o755);
  const user = process.getuid!() === 0 ? ["--user", "nobody"] : ["--same-user"];
  const place = ["--project-root", root];
  const listen = ["--listen", `http=127.0.0.1:${port}`];
  await hub.programs.run("sealift", ["app", "allow", "web", ...listen, ...user, ...place], {});
  await serving(hub, host, () => look(hub, host));
}

/** Does something while the applications of a root run. */
async function serving({ beside, path }: OldHub, host: string, what: () => Promise<unknown>): Promise<void> {
  await beside.serve("sealift", ["app", "serve", "--project-root", path("roots", host)]);
  try {
    await what();
  } finally {
    await beside.stop();
  }
}

/** Lets an application answer 503 until a watch has found it unhealthy. */
async function turnedIll(hub: OldHub, id: string): Promise<void> {
  const ill = join(hub.path("roots/shop-1"), ".sealift/data/apps/web/ill");
  writeFileSync(ill, "");
  const watched = hub.beside.run("watch", ["--config", hub.path("hosts/shop-1/watch.yaml")], {});
  await Promise.race([watched, stated(hub, "shop-1", `health-project-${id}.json`, "unhealthy")]);
  rmSync(ill);
}
