/**
 * `npm run dev`: a hub and a runtime from the sources, started again whenever a file that they load changes. They keep
 * their data in `.dev/` (ignored by git), so that keys, projects and plugins stay between runs. Ends with Ctrl-C.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "./arguments.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Time limit for a program to end before it is killed, in milliseconds. */
const STOP_LIMIT_MS = 15_000;

const { values } = scriptArguments(import.meta.filename, {
  options: {
    folder: { type: "string", default: join(ROOT, ".dev") },
    "hub-listen": { type: "string", default: "127.0.0.1:8787" },
    "runtime-listen": { type: "string", default: "127.0.0.1:8000" },
  },
});
const folder = values.folder;
const project = join(folder, "project");

/** Returns a secret that stays the same between runs, in a file of mode 0600. */
function secret(name: string): string {
  const file = join(folder, name);
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString("base64url"), { mode: 0o600 });
  return readFileSync(file, "utf8");
}

mkdirSync(folder, { recursive: true });
// Started as root, the runtime gives its sandboxes another user, who has to find the plugins here.
chmodSync(folder, 0o755);
if (!existsSync(project)) {
  cpSync(join(ROOT, "examples", "harbour"), project, { recursive: true });
  cpSync(join(project, "plugins/berth-board/.env.template"), join(project, "plugins/berth-board.env"));
}
const pluginKey = secret("plugin.key");
const environment = {
  ...process.env,
  NODE_OPTIONS: "--enable-source-maps",
  HARBOUR_PLUGIN_KEY: pluginKey,
  HARBOUR_SIGNATURE_KEY: secret("signature.key"),
  // A trusted plugin under development has no signature: its author is the operator.
  SEALIFT__PLUGINS__STRICT_TRUSTED: "false",
};

// Without this flag the runtime would run itself again, and the watcher would lose track of it.
const NODE_FLAGS = ["--watch", "--watch-preserve-output", "--disable-sigusr1"];

function start(name: string, program: string, args: string[]): ChildProcess {
  const child = spawn(process.execPath, [...NODE_FLAGS, join(ROOT, "bin", program), ...args], {
    cwd: ROOT,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => process.stdout.write(`${name.padEnd(7)} │ ${line}\n`));
  }
  return child;
}

const children = [
  start("hub", "hub-serve.ts", ["--data-dir", join(folder, "hub"), "--listen", values["hub-listen"]]),
  start("runtime", "runtime-serve.ts", [
    "--config",
    join(project, "integration.yaml"),
    "--listen",
    values["runtime-listen"],
  ]),
];
process.stdout.write(
  [
    "A hub and a runtime from the sources; Ctrl-C ends them. In another terminal:",
    `  export SEALIFT_HUB_URL=http://${values["hub-listen"]} SEALIFT_API_KEY=$(cat ${join(folder, "hub", "admin.key")})`,
    `  curl -X POST -H "X-Plugin-Key: ${"$"}(cat ${join(folder, "plugin.key")})" \\`,
    `    http://${values["runtime-listen"]}/plugin/ipc/tide-table/next`,
    `Plugins are in ${join(project, "plugins")}: change one and POST …/plugin/ipc/NAME/reload.`,
    "",
  ].join("\n"),
);

const exits = children.map((child) => once(child, "exit"));
const stop = (): void => {
  for (const child of children) child.kill("SIGTERM");
  setTimeout(() => children.forEach((child) => child.kill("SIGKILL")), STOP_LIMIT_MS).unref();
};
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
// One that ends by itself (a port in use) ends the other one.
await Promise.race(exits);
stop();
await Promise.all(exits);
