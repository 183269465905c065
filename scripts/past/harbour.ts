import { randomBytes } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OldHub, Secrets } from "./old-hub.ts";

/** A project, with its publisher and its hosts. */
export interface Harbour {
  id: string;
  publisher: Secrets;
  host: Secrets;
}

const EXAMPLE = fileURLToPath(new URL("../../examples/harbour", import.meta.url));
const STEPS = `
  - { id: up, action: restart, plugin: tide-table, depends_on: [berths-env] }
  - { id: well, action: healthcheck, plugin: tide-table, timeout: 5, retries: 0, depends_on: [up] }
`;

/** Writes a systemctl that finds a plugin with a file `sick` failed, and kills who restarts one with `die`. */
export function systemctlFor(hub: Pick<OldHub, "path">, root: string): Secrets {
  const programs = hub.path("programs", root);
  const plugin = join(hub.path("roots", root), "plugins/tide-table");
  mkdirSync(programs, { recursive: true });
  const script = `#!/bin/sh
case "$*" in
  *show*) echo LoadState=loaded; echo ActiveState=$([ -e ${plugin}/sick ] && echo failed || echo active); echo NRestarts=0;;
  *restart*) [ -e ${plugin}/die ] && kill -KILL $PPID;;
esac
true
`;
  writeFileSync(join(programs, "systemctl"), script, { mode: 0o755 });
  return { PATH: `${programs}:${process.env["PATH"]}` };
}

async function publish(
  hub: OldHub,
  { id, publisher }: Harbour,
  version: string,
  { mark, flags = [] }: { mark?: string; flags?: readonly string[] } = {},
): Promise<void> {
  const source = hub.path("source");
  const plan = join(source, "deployment/install.yaml");
  const text = readFileSync(join(EXAMPLE, "deployment/install.yaml"), "utf8").replace(
    /^project_id: .*$/m,
    `project_id: ${id}`,
  );
  writeFileSync(plan, text.trimEnd() + STEPS);
  const plugin = join(source, "plugins/tide-table");
  const descriptor = join(plugin, "plugin.yaml");
  writeFileSync(descriptor, readFileSync(descriptor, "utf8").replace(/^version: .*$/m, `version: ${version}`));
  for (const each of ["sick", "die"]) rmSync(join(plugin, each), { force: true });
  if (mark !== undefined) writeFileSync(join(plugin, mark), "");
  const signing = ["--signing-key-file", hub.path("keys/signer.key")];
  const args = [source, "--project-id", id, "--version", version, ...signing, ...flags];
  await hub.programs.run("deploy-publish", args, publisher);
}

/** Deploys into a root of the fixture. */
function deploy(
  hub: OldHub,
  { id, host }: Harbour,
  root: string,
  flags: readonly string[] = [],
  onEvent?: (event: { event: string }) => void,
): Promise<{ version: string }> {
  const args = ["--project-id", id, "--project-root", hub.path("roots", root), "--host-id", root];
  const trust = ["--signer-public-key", hub.path("keys/signer.pub"), "--supervisor", "systemd"];
  const secrets = { ...host, ...systemctlFor(hub, root) };
  return hub.programs.run("deploy-project", [...args, ...trust, ...flags], secrets, onEvent);
}

/** Publishes versions of a project. Host `pier-1` runs the last good one and has the next one in quarantine. */
export async function harbourOf(hub: OldHub): Promise<Harbour> {
  const id = await hub.project("Harbour");
  await hub.programs.run("sealift", ["signer", "create", "--out", hub.path("keys")], {});
  cpSync(EXAMPLE, hub.path("source"), { recursive: true });
  // The same in each version, so that a delta is much smaller than the artifact.
  writeFileSync(hub.path("source/plugins/tide-table/charts.bin"), randomBytes(12_000));
  const publisher = await hub.newKey("publisher", "--project", id, "--scope", "publish", "--scope", "read");
  const harbour = { id, publisher, host: await hub.newKey("host", "--project", id) };
  let deltas = 0;
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
    await publish(hub, harbour, version);
    await deploy(hub, harbour, "pier-1", [], ({ event }) => (deltas += Number(event === "delta.chosen")));
  }
  if (deltas !== 2) throw new Error(`${deltas} deployments came by a delta`);
  mkdirSync(hub.path("mirror"), { recursive: true });
  const caching = [
    "mirror",
    "serve",
    "--hub-url",
    hub.url,
    "--cache-dir",
    hub.path("mirror"),
    "--listen",
    "127.0.0.1:0",
  ];
  const mirror = await hub.programs.serve("sealift", caching);
  await deploy(hub, harbour, "of-mirror", ["--mirror", mirror]);
  await publish(hub, harbour, "2.0.0", { mark: "sick" });
  await deploy(hub, harbour, "pier-1").then(
    () => Promise.reject(new Error("2.0.0 was healthy")),
    () => undefined,
  );
  return harbour;
}

/** Has a deployment die in the middle of its switch, on the host `pier-2`. */
export async function cutShort(hub: OldHub, harbour: Harbour): Promise<void> {
  await publish(hub, harbour, "2.1.0", { mark: "die" });
  await deploy(hub, harbour, "pier-2", ["--version", "1.2.0"]);
  await deploy(hub, harbour, "pier-2", ["--version", "2.1.0"]).then(
    () => Promise.reject(new Error("2.1.0 did not die")),
    () => undefined,
  );
  readFileSync(join(hub.path("roots/pier-2"), ".sealift/journal.json"));
}

/** Publishes the version that hosts are to get today, and stages one that waits for approval. */
export async function hostOf(hub: OldHub, harbour: Harbour): Promise<void> {
  await publish(hub, harbour, "2.2.0");
  const stager = await hub.newKey("stager", "--project", harbour.id, "--scope", "stage");
  await publish(hub, { ...harbour, publisher: stager }, "3.0.0", { flags: ["--stage"] });
}

/** Goes back on `pier-1` while the hub is away: the report stays in the outbox. */
export async function rolledBackOffline(hub: OldHub, { id, host }: Harbour): Promise<void> {
  chmodSync(hub.path("roots/pier-1"), 0o755);
  const args = ["rollback", `project:${id}`, "--project-root", hub.path("roots/pier-1")];
  await hub.programs.run("sealift", args, { ...host, ...systemctlFor(hub, "pier-1") });
}
