import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { SMALL_HEAP } from "../../bin/launch.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { keyService } from "../../lib/client/key-service.ts";
import { SESSION_SECONDS } from "../../lib/hub/records/sessions.ts";
import { peakMbOf } from "../bench/measure.ts";
import { startFleet } from "./fleet.ts";
import { type HubTimes, hubTimes } from "./hub-times.ts";
import { randomPublisher } from "./publisher.ts";
import { measureRequests, type RequestRow, requestRows } from "./requests.ts";

export interface LoadOptions {
  agents: number;
  /** Threads among which the agents are divided. */
  workers: number;
  /** Interval of an agent's polls, in milliseconds. */
  intervalMs: number;
  /**
   * Time over which the agents start, and over which they take the version that is published at the end, in
   * milliseconds. Default: the interval.
   */
  rampMs?: number;
  durationMs: number;
  /** Hours by which the clocks of hub and agents are advanced meanwhile, step by step. Only for a hub of its own. */
  hours: number;
  /** Empty folder for the hub's data and the artifacts. */
  folder: string;
  /** Hub to use, with an administrator's key in the connection. Default: one of its own. */
  hub?: HubConnection;
  /** PostgreSQL for the hub of its own. */
  databaseUrl?: string;
  /** Called when a part of the run is over. */
  onProgress?: (text: string) => void;
}

export interface LoadResult {
  requests: RequestRow[];
  perSecond: number;
  /** Length of the run, in seconds. */
  seconds: number;
  /** Errors by code. */
  errors: Record<string, number>;
  /** Agents that have the version that was published during the run. */
  updated: number;
  /** Milliseconds from that publication until the last agent had reported it; undefined when some never did. */
  updatedAfterMs: number | undefined;
  /** Peak resident memory of the hub in MB; undefined for a given hub. */
  hubMb: number | undefined;
  /** Time that the hub took by its own clock; undefined for a given hub. */
  hubTimes: HubTimes[] | undefined;
  /**
   * Busiest of the fleet's threads. A time in `requests` includes the delay of its event loop: compare with `hubTimes`
   * where the loop was busy.
   */
  generator: { utilization: number; delayP99Ms: number };
}

const ARTIFACT_BYTES = 20_000;
/** Longest wait beyond two intervals, in milliseconds, for a busy machine. */
const PATIENCE_MS = 30_000;
const CHECK_MS = 50;
/** Steps per hour: a step is shorter than the 15 minutes of a download URL, so that deployments under way continue. */
const STEPS_PER_HOUR = 10;
const TIMEOUT_MS = 30_000;

interface LoadHub extends AsyncDisposable {
  connection: HubConnection;
  process: ChildProcess | undefined;
  metricsUrl: string | undefined;
  /** Advances the hub's clock by milliseconds; resolves when done. */
  advance(ms: number): Promise<void>;
}

/** Opens the hub of a run. */
export async function openLoadHub({
  hub,
  folder,
  databaseUrl,
}: Pick<LoadOptions, "hub" | "folder" | "databaseUrl">): Promise<LoadHub> {
  if (hub !== undefined)
    return {
      ...{ connection: hub, process: undefined, metricsUrl: undefined, advance: async () => {} },
      [Symbol.asyncDispose]: async () => {},
    };
  const dataDir = join(folder, "hub");
  const program = fileURLToPath(new URL("hub-program.ts", import.meta.url));
  const child = spawn(process.execPath, [...SMALL_HEAP.nodeFlags, program, dataDir], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"],
      ...SMALL_HEAP.env,
      ...(databaseUrl !== undefined && { LOAD_DATABASE_URL: databaseUrl }),
    },
  });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done === true) throw new Error("the hub did not start");
  const [hubUrl = "", metricsUrl] = first.value.split(" ");
  return {
    connection: {
      hubUrl,
      apiKey: (await readFile(join(dataDir, "admin.key"), "utf8")).trim(),
      timeoutMs: TIMEOUT_MS,
    },
    process: child,
    metricsUrl,
    async advance(ms) {
      child.stdin.write(`${ms}\n`);
      if ((await lines.next()).done === true) throw new Error("the hub has ended");
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/**
 * Runs a fleet against a hub in three phases. `start`: each agent deploys the existing version. `hours`: all poll until
 * `durationMs` are over, while the clocks are advanced. `release`: a version is published, and all take it. All agents
 * have one address, as behind a NAT or a proxy.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { agents, intervalMs, rampMs = intervalMs, durationMs, hours, folder, onProgress = () => {} } = options;
  await using hub = await openLoadHub(options);
  const { connection } = hub;
  const keys = keyService(connection);
  const project = await keys.createProject({ body: { name: "Load", kind: "project" } });
  const scopes = ["deploy", "report", "read"] as const;
  const key = await keys.createKey({ body: { name: "load", project_id: project.id, scopes: [...scopes] } });
  const errors: Record<string, number> = {};
  const onError = (code: string): void => void (errors[code] = (errors[code] ?? 0) + 1);
  const publish = randomPublisher(connection, { projectId: project.id, folder, bytes: ARTIFACT_BYTES, onError });
  await publish("1.0.0");

  const orders = {
    projectId: project.id,
    credential: key.deployment_credential!,
    connection: { ...connection, apiKey: key.key },
    intervalMs,
    rampMs,
  };
  using published = measureRequests();
  const page = async (): Promise<string> =>
    hub.metricsUrl === undefined ? "" : await (await fetch(hub.metricsUrl)).text();
  const phases: { name: string; page: string }[] = [];
  const enter = async (name: string): Promise<void> => {
    phases.push({ name, page: await page() });
    published.phase = name;
    fleet.enter(name);
  };
  const started = Date.now();
  await using fleet = startFleet(orders, { ...options, onError });
  /** Waits until all agents have done something, for a limited number of intervals. */
  const all = async (deed: string, count: () => number, lateMs = 0): Promise<boolean> => {
    const until = Date.now() + intervalMs * 2 + lateMs + PATIENCE_MS;
    while (count() < agents && Date.now() < until) await Promise.race([fleet.failed, sleep(CHECK_MS)]);
    onProgress(`${count()} agents ${deed}, ${Math.round((Date.now() - started) / 1000)} s after the start`);
    return count() >= agents;
  };
  await enter("start");
  await all("have deployed", () => fleet.deployed("1.0.0"), rampMs);
  await enter("hours");
  const restMs = Math.max(started + durationMs - Date.now(), 0);
  const steps = Math.max(hours * STEPS_PER_HOUR, 1);
  for (let step = 0; step < steps; step++) {
    if (hours > 0) {
      const stepMs = (SESSION_SECONDS * 1000) / STEPS_PER_HOUR;
      await hub.advance(stepMs);
      fleet.advance(stepMs);
    }
    await sleep(restMs / steps);
  }
  // If the clocks were advanced, all sessions have ended by now.
  fleet.polled.clear();
  await all("have polled", () => fleet.polled.size);
  await enter("release");
  const publishedAt = Date.now();
  await publish("1.1.0");
  const isUpdated = await all("have the new version", () => fleet.deployed("1.1.0"), rampMs);
  const updatedAfterMs = Date.now() - publishedAt;
  const seconds = (Date.now() - started) / 1000;
  const parts = await fleet.stop();
  const last = await page();
  const times = phases.flatMap(({ name, page: before }, index) =>
    hubTimes(name, [before, phases[index + 1]?.page ?? last]),
  );
  const requests = requestRows([published.histograms, ...parts.map(({ histograms }) => histograms)]);
  return {
    requests,
    perSecond: Math.round(requests.reduce((sum, { count }) => sum + count, 0) / seconds),
    seconds,
    errors,
    updated: fleet.deployed("1.1.0"),
    updatedAfterMs: isUpdated ? updatedAfterMs : undefined,
    hubMb: hub.process && peakMbOf(hub.process.pid!),
    hubTimes: hub.metricsUrl === undefined ? undefined : times,
    generator: {
      utilization: Math.max(...parts.map(({ utilization }) => utilization)),
      delayP99Ms: Math.max(...parts.map(({ delayP99Ms }) => delayP99Ms)),
    },
  };
}
