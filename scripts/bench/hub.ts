import { execFileSync, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { projectTree } from "./material.ts";
import { numbersByTurns, openServer } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { openStage, publish, type Stage } from "./stage.ts";
import { median, spread } from "./statistics.ts";

const SECONDS = 3;

/** Processor of the client, separate if there are several: it takes as much time as the server. */
const CLIENT_CPU = availableParallelism() - 1;
const SERVER_CPUS = CLIENT_CPU === 0 ? "0" : `0-${CLIENT_CPU - 1}`;

/**
 * Keeps the client's processor awake with low-priority work. Otherwise each answer would pay for waking it, up to 40 µs
 * on a virtual machine, and a server would seem slower than it is.
 */
function stayAwake(): Disposable {
  const loop = ["chrt", "--idle", "0", process.execPath, "-e", "for(;;);"];
  const child = spawn("taskset", ["-c", String(CLIENT_CPU), ...loop], { stdio: "ignore" });
  return { [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

/**
 * Measures the requests per second that a server answers to wrk on 20 connections. @throws Error when one is refused
 */
function requestsPerSecond(url: string, headers: Record<string, string>, seconds = SECONDS): number {
  const fields = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const args = ["-c", String(CLIENT_CPU), "wrk", "-t1", "-c20", `-d${seconds}s`, ...fields, url];
  const text = execFileSync("taskset", args, { encoding: "utf8" });
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${url}: ${text}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)![1]);
}

/** Keeps a process, with all of its threads, off the client's processor. */
const pinServer = (pid: number): unknown => execFileSync("taskset", ["-apc", SERVER_CPUS, String(pid)]);

/** Hub that lets every poll through, with one version and one plugin, on the servers' processors. */
interface PolledHub extends AsyncDisposable {
  stage: Stage;
  source: string;
  token: string;
  polls: Poll[];
}

interface Poll {
  name: string;
  url: string;
  headers: Record<string, string>;
}

/** @param root of the checkout whose hub it is; default: this one */
async function openPolledHub(folder: string, root?: string): Promise<PolledHub> {
  // The limit counts, but lets everything through.
  const stage = await openStage(folder, ["--rate-limit", "1000000000"], {}, root);
  pinServer(stage.hub.pid!);
  const source = join(stage.folder, "source");
  await projectTree(source, stage.projectId);
  await publish(stage, source, "1.0.0");
  const hubUrl = stage.publisher["SEALIFT_HUB_URL"]!;
  const apiKey = stage.publisher["SEALIFT_API_KEY"]!;
  const json = { "x-api-key": apiKey, "content-type": "application/json" };
  const project = { name: "Cargo", kind: "plugin", slug: "cargo" };
  await fetch(`${hubUrl}/devkeys/projects`, { method: "POST", headers: json, body: JSON.stringify(project) });
  const session = await fetch(`${hubUrl}/app/deploy/v1/auth`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ xdevkey: stage.host["SEALIFT_API_KEY"], project_id: stage.projectId }),
  });
  const { access_token: token } = (await session.json()) as { access_token: string };
  const latest = `${hubUrl}/app/deploy/v1/projects/${stage.projectId}/versions/latest`;
  const polls = [
    { name: "hub: detail", url: `${hubUrl}/app/marketplace/plugins/cargo`, headers: { "x-api-key": apiKey } },
    { name: "hub: latest", url: latest, headers: { authorization: `Bearer ${token}` } },
  ];
  return { stage, source, token, polls, [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose]() };
}

/** Measures the polls per second of this checkout's hub and of another one's, by turns. */
export async function pollRates(
  folder: string,
  turns: number,
  root: string,
): Promise<Record<string, Record<"ours" | "theirs", number[]>>> {
  await using ours = await openPolledHub(join(folder, "ours"));
  await using theirs = await openPolledHub(join(folder, "theirs"), root);
  using _awake = stayAwake();
  const rates: Record<string, Record<"ours" | "theirs", number[]>> = {};
  for (const [index, poll] of ours.polls.entries()) {
    const rival = theirs.polls[index]!;
    for (const { url, headers } of [poll, rival]) requestsPerSecond(url, headers, 1);
    rates[poll.name] = await numbersByTurns(turns, {
      ours: () => requestsPerSecond(poll.url, poll.headers),
      theirs: () => requestsPerSecond(rival.url, rival.headers),
    });
  }
  return rates;
}

/** Compares the hub's polls with a bare server that computes the same hash and makes the same indexed read. */
export async function hubRows(folder: string, runs: number): Promise<Row[]> {
  await using hub = await openPolledHub(join(folder, "stage"));
  const { stage, source, token, polls } = hub;
  using _awake = stayAwake();
  const rows: Row[] = [];
  for (const { name, url, headers } of polls) {
    const text = await (await fetch(url, { headers })).text();
    using bare = await openServer("bare-hub", [join(folder, `${name.slice(-6)}.sqlite`), text]);
    pinServer(bare.pid);
    for (const warmed of [url, bare.url]) requestsPerSecond(warmed, headers, 1);
    const rates = await numbersByTurns(runs, {
      bare: () => requestsPerSecond(bare.url, headers),
      hub: () => requestsPerSecond(url, headers),
    });
    const rate = (of: number[]): string => `${Math.round(median(of))}/s (${spread(of)})`;
    const detail = `${rate(rates.hub)} against ${rate(rates.bare)}`;
    rows.push(judged("hub_polls", median(rates.hub) / median(rates.bare), detail, name));
  }
  rows.push(await rolloutRow(stage, { source, token, runs }));
  return rows;
}

/** Compares polls of a host that names itself, with a live rollout of another wave and without one. */
async function rolloutRow(
  stage: Stage,
  { source, token, runs }: { source: string; token: string; runs: number },
): Promise<Row> {
  const { projectId, publisher } = stage;
  const [hubUrl, apiKey] = [publisher["SEALIFT_HUB_URL"]!, publisher["SEALIFT_API_KEY"]!];
  const post = async (path: string, body: object, headers: Record<string, string>): Promise<{ id: string }> => {
    const json = { "content-type": "application/json", ...headers };
    const answer = await fetch(hubUrl + path, { method: "POST", headers: json, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { id: string };
  };
  const owner = { "x-api-key": apiKey };
  const host = { authorization: `Bearer ${token}`, "x-sealift-host": "bench-1" };
  await post(
    "/app/deploy/v1/deployments/report",
    {
      ...{ project_id: projectId, deployment_id: "bench", host_id: "bench-1", status: "success", version: "1.0.0" },
      ...{ started_at: "", completed_at: "", plugins: [], running_version: "1.0.0" },
    },
    host,
  );
  await publish(stage, source, "2.0.0");
  const polls = `/app/deploy/v1/projects/${projectId}/versions/latest`;
  const rate = (): number => requestsPerSecond(hubUrl + polls, host);
  const rollouts = `/devkeys/projects/${projectId}/rollouts`;
  const rates = await numbersByTurns(runs, {
    without: rate,
    async with() {
      const rules = { version: "2.0.0", waves: ["env=none", "100%"], allow_empty_wave: true };
      const { id } = await post(rollouts, rules, owner);
      const measured = rate();
      await post(`${rollouts}/${id}/abort`, {}, owner);
      await post(`/devkeys/projects/${projectId}/versions/2.0.0/release`, {}, owner);
      return measured;
    },
  });
  const text = (of: number[]): string => `${Math.round(median(of))}/s (${spread(of)})`;
  const detail = `${text(rates.with)} against ${text(rates.without)}`;
  return judged("hub_rollout_polls", median(rates.with) / median(rates.without), detail);
}
