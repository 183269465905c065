// In a process of its own: it starts a hub and kills it.
/** The real programs over a line that is cut, and a hub that is killed in the middle of an upload. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { planText } from "../support/forged/artifact.ts";
import { freePort } from "../support/free-port.ts";
import { openCuttingLine } from "../support/hub/cutting-line.ts";
import { createProject, hubAt } from "../support/hub/harness.ts";
import { startPostgres } from "../support/hub/postgres-server.ts";
import { builtFile, builtProgram } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const MIB = 1024 * 1024;
const BYTES = 24 * MIB;

async function startHubProgram(t: Test, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [builtFile("hub-serve"), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

async function killedInTheMiddle(t: Test, more: readonly string[]): Promise<void> {
  const folder = temporaryFolder(t);
  const [dataDir, port] = [join(folder, "hub"), await freePort()];
  const args = ["--data-dir", dataDir, "--listen", `127.0.0.1:${port}`, ...more];
  let child = await startHubProgram(t, args);
  const url = `http://127.0.0.1:${port}`;
  const project = await createProject(hubAt(url, readFileSync(join(dataDir, "admin.key"), "utf8").trim()));
  const source = join(folder, "source");
  const files: Record<string, string | Uint8Array> = {
    "deployment/install.yaml": planText(project.id, "  - { id: install, action: install_plugin, plugin: demo }\n"),
    "plugins/demo/plugin.yaml": "name: demo\nversion: 1.0.0\n",
    "plugins/demo/data.bin": randomBytes(BYTES),
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(source, path)), { recursive: true });
    writeFileSync(join(source, path), content);
  }
  writeFileSync(join(folder, "signer.key"), randomBytes(32), { mode: 0o600 });
  const line = await openCuttingLine(t, () => url, [6 * MIB, 6 * MIB, 6 * MIB]);
  // The second cut is a hub that is killed; it is started again while the publisher waits.
  let cuts = 0;
  line.onCut = () => {
    if (++cuts !== 2) return;
    child.kill("SIGKILL");
    void once(child, "exit").then(async () => (child = await startHubProgram(t, args)));
  };
  const asked = [
    ...[source, "--project-id", project.id, "--project-name", "Demo", "--version", "1.0.0"],
    ...["--hub-url", line.url, "--signing-key-file", join(folder, "signer.key"), "--deltas", "0", "--json"],
  ];
  const env = { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder, SEALIFT_API_KEY: project.key };
  const { code, stdout, stderr } = await builtProgram(asked, { cwd: folder, env }, "deploy-publish");
  t.equal(code, 0, `${stdout.split("\n").slice(-3).join("\n")}${stderr}`);
  const events = stdout
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text) as { event: string; from_byte: number; artifact_bytes: number });
  const from = events.filter(({ event }) => event === "upload.resumed").map(({ from_byte: byte }) => byte);
  t.equal(from.length, 3, from.join(" "));
  const size = events.find(({ event }) => event === "pack.done")!.artifact_bytes;
  const sent = line.sent.reduce((total, bytes) => total + bytes, 0);
  // A kill loses what the hub had not written: at most two batches of 1 MiB, and what lay in the socket.
  t.ok(sent < size + 7 * MIB, `${sent} bytes were sent for ${size}`);
  t.comment(`${sent} bytes were sent for ${size}, from ${from.join(", ")}`);
  child.kill("SIGTERM");
  await once(child, "exit");
}

t.test("an upload outlives two cuts and a kill of the hub", (t) => killedInTheMiddle(t, []));

t.test("… of a hub on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.comment("no PostgreSQL here");
  await killedInTheMiddle(t, ["--database-url", databaseUrl]);
});
