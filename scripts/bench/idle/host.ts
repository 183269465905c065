/**
 * A hub over TLS and a host that watches it, alone in a network namespace: `host.ts FOLDER STATE TARGETS SECONDS` lets
 * them idle for so long, and prints what that took as JSON.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { starterPlan } from "../../../lib/agent/starters.ts";
import { requestAction } from "../../../lib/agent/watch/operator-requests.ts";
import type { TargetName } from "../../../lib/contract/target.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { makeCertificate } from "../../../test/support/hub/certificate.ts";
import { until } from "../../../test/support/until.ts";
import { projectTree } from "../material.ts";
import { bin, run, shell } from "../measure.ts";
import { openStage, publish, type Stage } from "../stage.ts";
import { carried, type Memory, memoryOf, startTraced, traffic, trafficSince } from "./kernel.ts";

export const STATES = ["published", "unpublished", "held"] as const;
export type IdleState = (typeof STATES)[number];

/** Measurement of an idle watch. */
export interface Idle {
  seconds: number;
  /** Calls that changed something on the disk. */
  changes: string[];
  /** Bytes that TCP carried in this time, and those of packets with their headers. */
  bytes: { tls: number; packets: number };
  /** The same of one poll as after an hour: a new connection and new sessions, until the connection is closed. */
  poll: { tls: number; packets: number };
  memory: Memory;
  /** Memory of `node` without a program. */
  bare: Memory;
  /** Seconds of processor time in this time. */
  cpuSeconds: number;
}

/** Time for a start to be over, such as that of collecting its garbage, in milliseconds. */
const SETTLE_MS = 30_000;
/** Time after which a hub has closed a kept connection (Fastify's 72 s), in milliseconds. */
const CLOSED_MS = 80_000;
const PLUGIN_VERSION = "1.0.0";
const SECRET = "bench-secret";
const TICKS_PER_SECOND = 100;

const bytesSince = (before: ReturnType<typeof traffic>): { tls: number; packets: number } => {
  const since = trafficSince(before);
  return { tls: carried(since), packets: since.bytes };
};

/** Publishes what the targets are to run; plugins share one hub and key with a project. */
async function publishAll(stage: Stage, plugins: readonly string[]): Promise<void> {
  const source = join(stage.folder, "source");
  await projectTree(source, stage.projectId);
  await publish(stage, source, PLUGIN_VERSION);
  for (const slug of plugins) {
    const folder = join(stage.folder, slug);
    mkdirSync(folder);
    writeFileSync(join(folder, "plugin.yaml"), `name: ${slug}\nversion: ${PLUGIN_VERSION}\n`);
    await shell(`cd ${stage.folder}; zip -qr ${slug}.zip ${slug}`);
    const words = ["marketplace", "publish", slug, "--version", PLUGIN_VERSION];
    const archive = ["--archive", join(stage.folder, `${slug}.zip`)];
    await stage.program("sealift", [...words, ...archive], { ...stage.publisher, SEALIFT_SIGNING_SECRET: SECRET });
  }
}

/** Writes the watch.yaml of a host that follows the project and the plugins. @returns its path */
function writeWatch(stage: Stage, root: string, plugins: readonly string[], interval = "60s"): string {
  const { folder, projectId, host, publisher } = stage;
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const project = {
    ...{ target: `project:${projectId}`, signer_public_key: join(folder, "keys", "signer.pub") },
    api_key_file: file("host.key", host["SEALIFT_API_KEY"]!),
    deployment_credential_file: file("host.credential", host["SEALIFT_DEPLOYMENT_CREDENTIAL"]!),
  };
  const others = plugins.map((slug) => {
    const items = [{ section: "plugins" as const, id: slug }];
    const plan = file(`${slug}.yaml`, starterPlan({ slug, items, supervised: false }));
    return {
      ...{ target: `plugin:${slug}`, install_plan: plan, api_key_file: join(folder, "plugins.key") },
      signing_secret_file: join(folder, "signing.secret"),
    };
  });
  file("plugins.key", publisher["SEALIFT_API_KEY"]!);
  file("signing.secret", SECRET);
  const shared = { hub_url: publisher["SEALIFT_HUB_URL"], project_root: root, host_id: "pier-7", interval };
  return file("watch.yaml", JSON.stringify({ ...shared, targets: [project, ...others] }));
}

/** Reads the events of a watch. @returns a function that resolves when an event has come so often */
function eventsOf(output: NodeJS.ReadableStream) {
  const counts = new Map<string, number>();
  createInterface({ input: output }).on("line", (line) => {
    const { event } = JSON.parse(line) as { event: string };
    counts.set(event, (counts.get(event) ?? 0) + 1);
  });
  return (event: string, times: number): Promise<void> => until(() => (counts.get(event) ?? 0) >= times);
}

async function bareMemory(): Promise<Memory> {
  const bare = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore", env: {} });
  await sleep(3000);
  const memory = memoryOf(bare.pid!);
  bare.kill("SIGKILL");
  return memory;
}

async function cpuTicksOf(pid: number): Promise<number> {
  const { stdout } = await run("cat", [`/proc/${pid}/stat`]);
  const fields = stdout.slice(stdout.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

async function measureIdle(folder: string, state: IdleState, targets: number, seconds: number): Promise<Idle> {
  mkdirSync(folder, { recursive: true });
  const { key, cert } = makeCertificate();
  writeFileSync(join(folder, "tls.key"), key, { mode: 0o600 });
  writeFileSync(join(folder, "tls.crt"), cert);
  const tls = ["--tls-cert", join(folder, "tls.crt"), "--tls-key", join(folder, "tls.key")];
  await using stage = await openStage(join(folder, "stage"), tls, { SEALIFT_CA_FILE: join(folder, "tls.crt") });
  const plugins = Array.from({ length: targets - 1 }, (_, index) => `cargo-${index + 1}`);
  for (const slug of plugins)
    await stage.program("sealift", ["project", "create", slug, "--kind", "plugin", "--slug", slug], stage.publisher);
  const root = join(folder, "root");
  const names: TargetName[] = [`project-${stage.projectId}`, ...plugins.map((slug) => `plugin-${slug}` as const)];
  if (state === "held") for (const name of names) await requestAction(layoutOf(root), name, "pause");
  if (state !== "unpublished") await publishAll(stage, plugins);
  const config = writeWatch(stage, root, plugins);
  const env = { PATH: process.env.PATH, HOME: folder, SEALIFT_CA_FILE: join(folder, "tls.crt") };
  const command = [process.execPath, bin("watch"), "--config", config];
  const traced = startTraced([...command, "--json"], { env, folder: root, log: join(folder, "strace.log") });
  const { pid } = traced.process;
  try {
    const seen = eventsOf(traced.process.stdout!);
    await seen("hints.connected", targets === 1 ? 1 : 2);
    if (state === "published") await seen("deploy.done", targets);
    // The first checks, and those that the opened streams ask for.
    await seen("check.scheduled", 2 * targets);
    await sleep(SETTLE_MS);

    traced.changes();
    const before = traffic();
    const ticks = await cpuTicksOf(pid!);
    await sleep(seconds * 1000);
    const idle = {
      seconds,
      ...{ changes: traced.changes(), bytes: bytesSince(before), memory: memoryOf(pid!), bare: await bareMemory() },
      cpuSeconds: ((await cpuTicksOf(pid!)) - ticks) / TICKS_PER_SECOND,
    };
    const unasked = traffic();
    // Other settings make it ask again, with new sessions: those of an hour ago have ended.
    writeWatch(stage, root, plugins, "61s");
    process.kill(pid!, "SIGHUP");
    await sleep(CLOSED_MS);
    const { tls: polled, packets } = bytesSince(unasked);
    // Beats go on meanwhile.
    const share = CLOSED_MS / 1000 / seconds;
    const poll = { tls: polled - idle.bytes.tls * share, packets: packets - idle.bytes.packets * share };
    return { ...idle, poll };
  } finally {
    const exited = once(traced.process, "exit");
    if (traced.process.exitCode === null && traced.process.kill()) await exited;
  }
}

const [folder, state, targets, seconds] = process.argv.slice(2);
console.log(JSON.stringify(await measureIdle(folder!, state as IdleState, Number(targets), Number(seconds))));
