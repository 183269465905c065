/**
 * `npm run build && node scripts/load/readers.ts --readers 50 --hosts 5000 --plugins 1000 --seconds 20`: people who
 * look at the pages of the built hub while agents poll and report. Prints the hub's memory after its start, the first
 * page, 1,000 pages, and with all readers, and the times of pages and polls. Words after `--` are options of
 * `hub-serve`; with `--no-web` only the polls are measured. `--data-dir` keeps the filled hub for another run.
 */
import { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type CallOptions, hubAt } from "../../test/support/hub/harness.ts";
import { fillShownHub, report } from "../../test/support/hub/shown-hub.ts";
import { Visitor } from "../../test/support/hub/web.ts";
import { scriptArguments } from "../arguments.ts";
import { serveHub } from "../bench/stage.ts";
import { timesLine } from "../bench/statistics.ts";

/** Interval at which a reader opens a page, in milliseconds. */
const CLICK_MS = 1000;
/** Interval of polls, and of reports, of the fleet, in milliseconds. */
const POLL_MS = 10;
const REPORT_MS = 500;
const PAGES = ["/", "/plugins/tide-table", "/plugins/tide-table/fleet", "/plugins/tide-table/rollouts", "/fleets"];

interface Reading {
  url: string;
  cookies: string;
  readers: number;
  seconds: number;
}

const agent = new Agent({ keepAlive: true });

/** Reads a page as a browser gets it, compressed. @returns milliseconds until its first byte */
async function look(url: string, headers: Record<string, string>): Promise<number> {
  const begun = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  get(url, { agent, headers: { "accept-encoding": "br", ...headers } }, (response) => {
    const first = performance.now() - begun;
    if (response.statusCode! >= 400) reject(new Error(`${url}: ${response.statusCode}`));
    response.resume().once("close", () => resolve(first));
  }).once("error", reject);
  return promise;
}

/** Makes each reader hold the stream of a fleet's changes and click from page to page. */
async function readOn({ url, cookies, readers, seconds }: Reading): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  const read = async (index: number): Promise<void> => {
    const stream = get(`${url}/live/plugins/tide-table`, { headers: { cookie: cookies }, agent: false });
    stream.on("response", (response) => response.resume()).on("error", () => {});
    await sleep((index * CLICK_MS) / readers);
    for (let page = index; performance.now() < end; page++) {
      times.push(await look(url + PAGES[page % PAGES.length]!, { cookie: cookies }));
      await sleep(CLICK_MS);
    }
    stream.destroy();
  };
  await Promise.all(Array.from({ length: readers }, (_, index) => read(index)));
  return times;
}

/** Returns the resident, proportional and private memory of a process in MB. */
function memoryOf(child: ChildProcess): string {
  const text = readFileSync(`/proc/${child.pid}/smaps_rollup`, "utf8");
  const of = (name: string): string =>
    ((Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)![1]) * 1024) / 1e6).toFixed(0);
  return `${of("Rss")} MB resident, ${of("Pss")} MB of its own share`;
}

async function measure(): Promise<void> {
  const { values, positionals } = scriptArguments(import.meta.filename, {
    allowPositionals: true,
    options: {
      readers: { type: "string", default: "50" },
      hosts: { type: "string", default: "5000" },
      plugins: { type: "string", default: "1000" },
      seconds: { type: "string", default: "20" },
      "data-dir": { type: "string" },
    },
  });
  const [readers, hosts, plugins, seconds] = [values.readers, values.hosts, values.plugins, values.seconds].map(Number);
  const folder = await mkdtemp(join(tmpdir(), "sealift-readers-"));
  try {
    const dataDir = values["data-dir"] ?? join(folder, "hub");
    const slug = "tide-table";
    if (!existsSync(dataDir)) {
      await using hub = await serveHub(dataDir, ["--rate-limit", "0"]);
      const filled = hubAt(hub.url, hub.admin.SEALIFT_API_KEY);
      await fillShownHub(filled, { hosts: Math.min(hosts!, 24) });
      for (let host = 25; host <= hosts!; host++) {
        const labels = { site: host % 2 === 0 ? "hull" : "hamburg" };
        await report(filled, { slug, host: `quay-${host}`, version: "1.0.0", labels });
      }
      for (let plugin = 1; plugin <= plugins!; plugin++) {
        const json: CallOptions["json"] = { name: `Plugin ${plugin}`, kind: "plugin", slug: `plugin-${plugin}` };
        await filled.call("POST", "/devkeys/projects", { json });
      }
    }
    await using hub = await serveHub(dataDir, positionals);
    const { url, process: child } = hub;
    const { SEALIFT_API_KEY: key } = hub.admin;
    const memory = (when: string): void => console.log(`${when}: ${memoryOf(child)}`);
    await sleep(3000);
    memory("after its start");
    const api = hubAt(url, key);
    /** Polls, and reports, as a fleet does, for a time. */
    const poll = async (): Promise<number[]> => {
      const times: number[] = [];
      const asked: Promise<void>[] = [];
      let host = 0;
      const reports = setInterval(
        () => asked.push(report(api, { slug, host: `quay-${25 + (host++ % 100)}`, version: "1.2.0" })),
        REPORT_MS,
      );
      const headers = { "x-api-key": key };
      for (const end = performance.now() + seconds! * 1000; performance.now() < end; await sleep(POLL_MS))
        asked.push(look(`${url}/app/marketplace/plugins/${slug}`, headers).then((ms) => void times.push(ms)));
      clearInterval(reports);
      await Promise.all(asked);
      return times;
    };
    if (!positionals.includes("--no-web")) {
      console.log(`the first page after its start: ${(await look(`${url}/sign-in`, {})).toFixed(0)} ms`);
      memory("after the first page");
      const visitor = await new Visitor(url).signIn(key);
      const cookies = { cookie: visitor.cookies };
      for (const page of PAGES)
        console.log(`${page}: ${(await look(url + page, cookies)).toFixed(0)} ms at the first look`);
      memory("after one look at each page");
      const times: number[] = [];
      for (let page = 0; page < 1000; page++) times.push(await look(url + PAGES[page % PAGES.length]!, cookies));
      console.log(timesLine("pages of one reader", times));
      memory("after 1,000 pages of one reader");
    }
    console.log(timesLine("polls without readers", await poll()));
    memory("after polls");
    if (positionals.includes("--no-web")) return;
    const { cookies } = await new Visitor(url).signIn(key);
    const reading: Reading = { url, cookies, readers: readers!, seconds: seconds! };
    const worker = new Worker(new URL(import.meta.url), { workerData: reading });
    const done = once(worker, "message");
    console.log(timesLine(`polls beside ${readers} readers`, await poll()));
    memory(`beside ${readers} readers`);
    console.log(timesLine("their pages", ((await done) as [number[]])[0]));
  } finally {
    agent.destroy();
    await rm(folder, { recursive: true, force: true });
  }
}

if (isMainThread) await measure();
else {
  parentPort!.postMessage(await readOn(workerData as Reading));
  agent.destroy();
}
