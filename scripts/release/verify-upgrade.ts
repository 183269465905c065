/** Upgrades a program to the release by `sealift upgrade`, as docs/installing.md does for a fleet. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { isOfThisMachine } from "../build/platforms.ts";
import { ARTIFACTS } from "./files.ts";
import { run } from "./run.ts";

const { version } = packageJson;

/** Writes the tree of a project that brings the executables of a release to a fleet. */
function writeFleet(tree: string, project: string, executables: readonly string[]): void {
  const program = join(tree, "plugins/sealift");
  for (const folder of [program, join(tree, "deployment")]) mkdirSync(folder, { recursive: true });
  for (const file of executables) copyFileSync(file, join(program, basename(file)));
  writeFileSync(join(program, "plugin.yaml"), `name: sealift\nversion: ${version}\nexecution_mode: trusted\n`);
  const step = "{ id: sealift, action: install_plugin, plugin: sealift }";
  writeFileSync(
    join(tree, "deployment/install.yaml"),
    `format_version: "1"\nproject_id: ${project}\nversion: ${version}\nsteps:\n  - ${step}\n`,
  );
}

/**
 * Publishes the executables to a hub, and lets a program take the place of itself by them.
 *
 * @param work an empty folder
 * @throws Error
 */
export async function verifyUpgrade(files: string, work: string): Promise<void> {
  const executables = ARTIFACTS.filter(({ kind }) => kind === "executable");
  const ours = executables.find(({ processors }) => isOfThisMachine(processors[0]!));
  if (ours === undefined) throw new Error("No executable of the release runs on this machine.");
  const program = join(work, "site/sealift");
  mkdirSync(join(work, "site"));
  // The user of sandboxes reads the program, as in /usr/local/bin.
  for (const folder of [work, join(work, "site")]) chmodSync(folder, 0o755);
  copyFileSync(join(files, ours.name), program);
  // The same program of other bytes: nothing reads what stands behind it.
  appendFileSync(program, "former");
  const released = join(files, ours.name);
  const env: Record<string, string> = { PATH: process.env["PATH"] ?? "", HOME: work };
  const sealift = (name: string, ...words: string[]): string => run([name, ...words], work, env);
  const hub = spawn(
    released,
    ["hub", "serve", "--data-dir", "hub", "--listen", "127.0.0.1:0", "--log-level", "error"],
    {
      ...{ cwd: work, env },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  try {
    const [ready] = (await once(hub.stdout.setEncoding("utf8"), "data")) as [string];
    env["SEALIFT_HUB_URL"] = /ready (\S+)/.exec(ready)?.[1] ?? "";
    env["SEALIFT_API_KEY"] = readFileSync(join(work, "hub/admin.key"), "utf8").trim();
    const [project = ""] = /prj_\w+/.exec(sealift(released, "project", "create", "Sealift")) ?? [];
    writeFleet(
      join(work, "fleet"),
      project,
      executables.map(({ name }) => join(files, name)),
    );
    sealift(released, "signer", "create", "--out", "keys");
    const publish = ["project", "publish", "fleet", "--project-id", project, "--version", version];
    sealift(released, ...publish, "--signing-key-file", "keys/signer.key");
    const key = sealift(released, "key", "create", "--name", "host", "--project", project);
    for (const [, name = "", value = ""] of key.matchAll(/^(SEALIFT_\w+)=(.+)$/gm)) env[name] = value;
    const options = ["--signer-public-key", "keys/signer.pub", "--project-root", "state"];
    sealift(program, "upgrade", "--project-id", project, ...options);
    if (statSync(program).size !== statSync(released).size)
      throw new Error("`sealift upgrade` left the program as it was.");
    sealift(program, "upgrade", "back");
    if (statSync(program).size === statSync(released).size) throw new Error("`sealift upgrade back` did not go back.");
  } finally {
    hub.kill("SIGTERM");
    await once(hub, "exit");
  }
}
