import { type ChildProcess, spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DevkeysClient } from "../../lib/client/devkeys-client.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { publishArtifact } from "../../lib/client/publish-client.ts";
import { SESSION_SECONDS } from "../../lib/hub/records/sessions.ts";
import { peakMbOf } from "../bench/measure.ts";
import { type Fleet, runAgent } from "./agent.ts";
import { type HubTimes, hubTimes } from "./hub-times.ts";
import { measureRequests, type RequestTimes } from "./requests.ts";

export interface LoadOptions {
  agents: number;
  /** Time between two polls of an agent. */
  intervalMs: number;
  durationMs: number;
  /** Hours by which the clocks of hub and agents are put forward meanwhile, step by step. Only for a hub of its own. */
  hours: number;
  /** Empty folder for the hub's data and the artifacts. */
  folder: string;
  /** The hub to use, with the key of an administrator in the connection. Default: one of its own. */
  hub?: HubConnection;
  /** A PostgreSQL for the hub of its own. */
  databaseUrl?: string;
}

export interface LoadResult {
  requests: ReturnType<RequestTimes["rows"]>;
  perSecond: number;
  /** Length of the run. */
  seconds: number;
  /** By error code. */
  errors: Record<string, number>;
  /** Agents that have the version that was published during the run. */
  updated: number;
  /** Milliseconds from that publication until the last agent had reported it; undefined when some never did. */
  updatedAfterMs: number | undefined;
  /** Peak resident memory of the hub in MB; undefined for a hub that was given. */
  hubMb: number | undefined;
  /** The time that the hub took by its own clock; undefined for a hub that was given. */
  hubTimes: HubTimes[] | undefined;
  /**
   * The fleet's own process. A time in `requests` also holds the delay of its event loop: compare with `hubTimes` where
   * the loop was busy.
   */
  generator: { utilization: number; delayP99Ms: number };
}

const ARTIFACT_BYTES = 20_000;
/** Beyond two intervals, for a busy machine. */
const PATIENCE_MS = 30_000;
const CHECK_MS = 50;
const DELAY_RESOLUTION_MS = 10;
/** A step is shorter than the 15 minutes of a download address, so that a deployment under way goes on. */
const STEPS_PER_HOUR = 10;
const TIMEOUT_MS = 30_000;

interface LoadHub extends AsyncDisposable {
  connection: HubConnection;
  process: ChildProcess | undefined;
  metricsUrl: string | undefined;
  /** Puts the hub's clock forward by milliseconds. */
  advance(ms: number): void;
}

async function openLoadHub({ hub, folder, databaseUrl }: LoadOptions): Promise<LoadHub> {
  if (hub !== undefined)
    return {
      ...{ connection: hub, process: undefined, metricsUrl: undefined, advance: () => {} },
      [Symbol.asyncDispose]: async () => {},
    };
  const dataDir = join(folder, "hub");
  const program = fileURLToPath(new URL("hub-program.ts", import.meta.url));
  // As hub-serve sets it for itself.
  const child = spawn(process.execPath, ["--semi-space-growth-factor=1", program, dataDir], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"],
      ...(databaseUrl !== undefined && { LOAD_DATABASE_URL: databaseUrl }),
    },
  });
  const exited = once(child, "exit");
  const line = await Promise.race([once(child.stdout, "data"), exited.then(() => undefined)]);
  if (line === undefined) throw new Error("the hub did not start");
  const [hubUrl = "", metricsUrl] = String(line[0]).trim().split(" ");
  return {
    connection: {
      hubUrl,
      apiKey: (await readFile(join(dataDir, "admin.key"), "utf8")).trim(),
      timeoutMs: TIMEOUT_MS,
    },
    process: child,
    metricsUrl,
    advance: (ms) => void child.stdin.write(`${ms}\n`),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** The clock by which clients renew their sessions, `performance.now()`, made so that it can be put forward. */
function clientClock(): Disposable & { advance(ms: number): void } {
  const real = performance.now.bind(performance);
  let ahead = 0;
  performance.now = () => real() + ahead;
  return {
    advance: (ms) => void (ahead += ms),
    [Symbol.dispose]: () => void Reflect.deleteProperty(performance, "now"),
  };
}

/** A signer who publishes versions of random bytes. */
function publisher(connection: HubConnection, projectId: string, folder: string): (version: string) => Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const signer = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
  return async (version) => {
    const bytes = randomBytes(ARTIFACT_BYTES);
    const file = join(folder, `${version}.xdeploy`);
    await writeFile(file, bytes);
    const fields = {
      version,
      project_name: "Load",
      content_sha256: createHash("sha256").update(bytes).digest("hex"),
      dek: randomBytes(32).toString("base64"),
      signature: sign(null, bytes, privateKey).toString("base64"),
      signer_public_key: signer,
    };
    await publishArtifact({ ...connection, projectId }, fields, file);
  };
}

/**
 * Runs a fleet against a hub: each agent deploys the version that is there, and polls for `durationMs`, while the
 * clocks are put forward; then a version is published, and all take it. All agents have one address, as behind a NAT
 * or a proxy.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { agents, intervalMs, durationMs, hours, folder } = options;
  await using hub = await openLoadHub(options);
  const { connection } = hub;
  const keys = new DevkeysClient(connection);
  const project = await keys.createProject({ name: "Load", kind: "project" });
  const scopes = ["deploy", "report", "read"] as const;
  const key = await keys.createKey({ name: "load", project_id: project.id, scopes: [...scopes] });
  const publish = publisher(connection, project.id, folder);
  await publish("1.0.0");

  using clock = clientClock();
  using times = measureRequests();
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  const utilization = performance.eventLoopUtilization();
  // One for each agent: a signal that ten thousand listen to is slow.
  const stops = Array.from({ length: agents }, () => new AbortController());
  const errors: Record<string, number> = {};
  const deployed: Record<string, number> = {};
  const polled = new Set<number>();
  const fleet: Fleet = {
    projectId: project.id,
    credential: key.deployment_credential!,
    connection: { ...connection, apiKey: key.key },
    intervalMs,
    onPolled: (index) => void polled.add(index),
    onDeployed: (version) => (deployed[version] = (deployed[version] ?? 0) + 1),
    onError: (code) => (errors[code] = (errors[code] ?? 0) + 1),
  };
  /** Waits until all agents have done something, for some intervals at most. */
  const all = async (count: () => number): Promise<boolean> => {
    const until = Date.now() + intervalMs * 2 + PATIENCE_MS;
    while (count() < agents && Date.now() < until) await sleep(CHECK_MS);
    return count() >= agents;
  };
  const deploymentsOf = (version: string) => (): number => deployed[version] ?? 0;
  const started = Date.now();
  const running = stops.map(({ signal }, index) => runAgent(fleet, index, signal));
  await all(deploymentsOf("1.0.0"));
  const restMs = Math.max(started + durationMs - Date.now(), 0);
  const steps = Math.max(hours * STEPS_PER_HOUR, 1);
  for (let step = 0; step < steps; step++) {
    for (const each of hours > 0 ? [hub, clock] : []) each.advance((SESSION_SECONDS * 1000) / STEPS_PER_HOUR);
    await sleep(restMs / steps);
  }
  // The sessions of all have ended by now, if the clocks were put forward.
  polled.clear();
  await all(() => polled.size);
  const publishedAt = Date.now();
  await publish("1.1.0");
  const isUpdated = await all(deploymentsOf("1.1.0"));
  const updatedAfterMs = Date.now() - publishedAt;
  const { count } = times;
  const requests = times.rows();
  const seconds = (Date.now() - started) / 1000;
  delay.disable();
  const generator = {
    utilization: performance.eventLoopUtilization(utilization).utilization,
    // A sample that is in time is as late as the resolution.
    delayP99Ms: Math.max(delay.percentile(99) / 1e6 - DELAY_RESOLUTION_MS, 0),
  };
  for (const stop of stops) stop.abort();
  await Promise.all(running);
  return {
    requests,
    perSecond: Math.round(count / seconds),
    seconds,
    errors,
    updated: deploymentsOf("1.1.0")(),
    updatedAfterMs: isUpdated ? updatedAfterMs : undefined,
    hubMb: hub.process && peakMbOf(hub.process.pid!),
    hubTimes: hub.metricsUrl === undefined ? undefined : hubTimes(await (await fetch(hub.metricsUrl)).text()),
    generator,
  };
}
