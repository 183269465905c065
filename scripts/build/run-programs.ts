/**
 * Runs the built programs in this one process, as far as a user's usual work goes: a publication, its deployment, an
 * upgrade, requests of the other programs, and the start of a hub. Node keeps the code that V8 compiles of their
 * modules. Arguments: `dist/`, and an empty folder to work in.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [dist = "", cwd = ""] = process.argv.slice(2);

/** Everything that programs wrote to standard output. */
let output = "";
const capture: typeof process.stdout.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
  output += String(chunk);
  const done = rest.at(-1);
  if (typeof done === "function") (done as () => void)();
  return true;
};
process.stdout.write = capture;

/** Milliseconds between two looks at what a program has done. */
const LOOK_MS = 5;

let runs = 0;

/** Starts a program. @returns what it wrote, once `until` is true: by default, when it has ended */
async function run(args: readonly string[], until = () => process.exitCode !== undefined): Promise<string> {
  const [program = "", ...rest] = args;
  process.argv = [process.execPath, join(dist, `bin/${program}.js`), ...rest];
  process.exitCode = undefined;
  output = "";
  // Its first file is loaded anew each time.
  await import(`${pathToFileURL(join(dist, `bin/${program}.js`)).href}?run=${++runs}`);
  while (!until()) await sleep(LOOK_MS);
  return output;
}

/** Runs a program that must succeed. @returns what it wrote */
async function succeed(...args: string[]): Promise<string> {
  const text = await run(args);
  if (process.exitCode !== 0) throw new Error(`${args.join(" ")} ended with ${process.exitCode}: ${text}`);
  return text;
}

const result = async <T>(...args: string[]): Promise<T> => JSON.parse(await succeed(...args, "--json")) as T;

/** Writes the source tree of a project around one plugin. */
function writeSource(projectId: string, text: string): string {
  const source = join(cwd, "source");
  const plugin = join(source, "plugins/none");
  for (const folder of [plugin, join(source, "deployment")]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(plugin, "plugin.yaml"), "name: none\nversion: 1.0.0\n");
  writeFileSync(join(plugin, "text"), text);
  const steps = "steps:\n  - {id: install, action: install_plugin, plugin: none}\n";
  const head = `format_version: "1"\nproject_id: ${projectId}\nversion: 1.0.0\n`;
  writeFileSync(join(source, "deployment/install.yaml"), head + steps);
  return source;
}

const hubArgs = (dataDir: string): string[] => ["--data-dir", dataDir, "--listen", "127.0.0.1:0"];
const dataDir = join(cwd, "hub");
// The hub that the others need keeps no code: it comes last, since it sets a flag of V8 that its code is bound to.
const hub = spawn(process.execPath, [join(dist, "bin/hub-serve.js"), ...hubArgs(dataDir)], {
  env: { NODE_DISABLE_COMPILE_CACHE: "1" },
  stdio: ["ignore", "pipe", "ignore"],
});
const [ready] = (await once(hub.stdout, "data")) as [Buffer];
const hubUrl = /^ready (\S+)/.exec(ready.toString())![1]!;
const adminKey = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
const at = ["--hub-url", hubUrl, "--api-key"];

await succeed("sealift", "keygen", "--out", join(cwd, "keys"));
const { project } = await result<{ project: { slug: string } }>("sealift", "projects", "create", "N", ...at, adminKey);
const forHost = ["--name", "host", "--project", project.slug];
const { key } = await result<{ key: { key: string; deployment_credential: string } }>(
  ...["sealift", "keys", "create", ...forHost, ...at, adminKey],
);
const deployment = [...at, key.key, "--project-root", join(cwd, "root")];
const credential = ["--deployment-credential", key.deployment_credential];
const signer = join(cwd, "keys/signer");
for (const version of ["1.0.0", "1.1.0"]) {
  const source = writeSource(project.slug, version);
  const what = ["--project-id", project.slug, "--version", version, "--signing-key-file", `${signer}.key`];
  await succeed("deploy-publish", source, ...what, ...at, adminKey);
  const target = ["--project-id", project.slug, ...credential, "--signer-public-key", `${signer}.pub`];
  await succeed("deploy-project", ...target, ...deployment);
}

// These name a plugin that the hub does not have: they end with its answer.
const plan = join(cwd, "install.yaml");
const plugin = ["--signing-secret", "none", "--install-plan", plan];
await run(["sealift", "plan", "init", "none", "--out", plan]);
await run(["deploy-marketplace", "none", ...deployment, ...plugin]);
await run(["watch", "plugin:none", "--once", ...deployment, ...plugin]);
await succeed("sealift", "keys", "list", ...at, adminKey);
hub.kill("SIGTERM");
await once(hub, "exit");

await run(["hub-serve", ...hubArgs(join(cwd, "hub-2"))], () => output.includes("\n"));
process.exitCode = undefined;
process.emit("SIGTERM", "SIGTERM");
while (process.exitCode === undefined) await sleep(LOOK_MS);
