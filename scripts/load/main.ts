/**
 * `npm run load -- --agents 10000 --interval 60s --duration 4m --hours 1`: a fleet of agents in one process, with the
 * client of the real agent, against a hub of its own (docs/performance.md#hubs-with-many-hosts). Prints latencies
 * and errors, and exits with 1 when there was an error or an agent missed the version that was published at the end.
 * `--workers` says among how many threads the agents are divided: one for each core, unless given.
 *
 * The agents start one after the other over the time `--ramp`, and take the version at the end over the same time: the
 * interval, unless given. `--hours` puts the clocks of hub and agents forward meanwhile, so that every session ends;
 * without it they are the real ones. `--hub-url URL` with SEALIFT_API_KEY uses a hub that runs, with the real clock.
 * `--database-url` gives the hub of its own a PostgreSQL.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { tableLines } from "../../commands/shell/output/table.ts";
import { scriptArguments } from "../arguments.ts";
import { runLoad } from "./run.ts";

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 };

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

function millisecondsOf(name: string, text: string): number {
  const [, digits, unit] = /^(\d+)(s|m|h)$/.exec(text) ?? [];
  return digits === undefined
    ? fail(`--${name} is a time such as 60s or 5m, not ${text}`)
    : Number(digits) * UNITS[unit!]!;
}

function countOf(name: string, text: string): number {
  return /^[1-9]\d{0,6}$/.test(text) ? Number(text) : fail(`--${name} is a whole number, not ${text}`);
}

const { values } = scriptArguments(import.meta.filename, {
  options: {
    agents: { type: "string", default: "1000" },
    workers: { type: "string", default: String(availableParallelism()) },
    interval: { type: "string", default: "60s" },
    ramp: { type: "string" },
    duration: { type: "string", default: "2m" },
    hours: { type: "string", default: "0" },
    "hub-url": { type: "string" },
    "database-url": { type: "string" },
  },
});
const { "hub-url": hubUrl, "database-url": databaseUrl } = values;
const apiKey = process.env["SEALIFT_API_KEY"];
if (hubUrl !== undefined && apiKey === undefined) fail("--hub-url needs an administrator's key in SEALIFT_API_KEY");
if (hubUrl !== undefined && values.hours !== "0") fail("--hours needs a hub of its own, without --hub-url");

const agents = countOf("agents", values.agents);
const folder = await mkdtemp(join(tmpdir(), "sealift-load-"));
try {
  const result = await runLoad({
    agents,
    workers: countOf("workers", values.workers),
    intervalMs: millisecondsOf("interval", values.interval),
    ...(values.ramp !== undefined && { rampMs: millisecondsOf("ramp", values.ramp) }),
    durationMs: millisecondsOf("duration", values.duration),
    hours: values.hours === "0" ? 0 : countOf("hours", values.hours),
    folder,
    onProgress: (text) => console.error(text),
    ...(hubUrl !== undefined && { hub: { hubUrl, apiKey: apiKey!, timeoutMs: 30_000 } }),
    ...(databaseUrl !== undefined && { databaseUrl }),
  });
  type Row = (typeof result.requests)[number];
  const columns = {
    ...{ phase: (row: Row) => row.phase, operation: (row: Row) => row.operation, status: (row: Row) => row.status },
    ...{ count: (row: Row) => String(row.count), "p50 ms": (row: Row) => String(row.p50) },
    ...{ "p99 ms": (row: Row) => String(row.p99), "max ms": (row: Row) => String(row.max) },
  };
  console.log(tableLines(columns, result.requests, true).join("\n"));
  for (const { phase, operation, count, p50, p99 } of result.hubTimes ?? [])
    console.log(`the hub itself: ${phase}, ${operation}, ${count} times, p50 ≤ ${p50} ms, p99 ≤ ${p99} ms`);
  const { utilization, delayP99Ms } = result.generator;
  const busy = Math.round(utilization * 100);
  console.log(`the fleet's busiest thread: ${busy} % busy, late by ${Math.round(delayP99Ms)} ms at p99`);
  console.log(`${result.perSecond} requests a second, for ${Math.round(result.seconds)} s`);
  const late =
    result.updatedAfterMs === undefined ? "not all in time" : `the last after ${result.updatedAfterMs / 1000} s`;
  console.log(`${result.updated} of ${agents} agents have the new version, ${late}`);
  if (result.hubMb !== undefined) console.log(`peak memory of the hub: ${result.hubMb} MB`);
  console.log(`errors: ${JSON.stringify(result.errors)}`);
  if (Object.keys(result.errors).length > 0 || result.updated < agents) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
