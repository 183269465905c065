import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { DEFAULT_BODY_VALUES } from "../../lib/contract/files/descriptor.ts";
import { openServer } from "./measure.ts";
import { judged, type Row } from "./row.ts";
import { BenchProject, KEY } from "./runtime-project.ts";
import { timesLine } from "./statistics.ts";

/**
 * Measures calls to one plugin while callers of another one send the heaviest bodies that are allowed: milliseconds at
 * p99.
 */

const MODES = ["trusted", "sandboxed"] as const;
/** Connections that send heavy bodies, each the next one as soon as one is answered. */
const CONNECTIONS = 8;
/** Pause between two measured calls, in milliseconds. */
const PAUSE_MS = 5;
const SOURCE = `export default { actions: { size: (payload) => payload.length ?? 0 } };`;
const BODY_BYTES = 4 * 1024 * 1024;

/** Returns bodies as large, and with as many values, as the runtime takes: texts, and numbers that are slow to read. */
function heavyBodies(): Buffer[] {
  const count = DEFAULT_BODY_VALUES - 10;
  const width = Math.floor((BODY_BYTES - 100) / count) - 1;
  const number = (index: number): string => `-1.${String(index).padStart(width - 8, "7213459806")}e-300`;
  return [(index: number) => `"${String(index).padStart(width - 2, "value ")}"`, number].map((valueOf) =>
    Buffer.from(`{"payload":[${Array.from({ length: count }, (_, index) => valueOf(index)).join(",")}]}`),
  );
}

/**
 * Calls an action.
 *
 * @param isFlood accepts 429 too, by which a sandboxed plugin refuses what its process has no room for
 * @returns the milliseconds until its whole answer
 * @throws Error for any answer but 200
 */
function call(url: string, body: Buffer, isFlood = false): Promise<number> {
  const headers = { "content-type": "application/json", "content-length": body.length, "x-plugin-key": KEY };
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, (answer) => {
      answer.resume().on("end", () => {
        if (answer.statusCode === 200 || (isFlood && answer.statusCode === 429)) resolve(performance.now() - begun);
        else reject(new Error(`${url} answered ${answer.statusCode}`));
      });
    });
    sent.on("error", reject).end(body);
  });
}

/** Sends heavy bodies for as long as the thread lives. */
async function flood(url: string): Promise<void> {
  const bodies = heavyBodies();
  for (let at = 0; ; at++) await call(url, bodies[at % bodies.length]!, true);
}

/** @param seconds measured for each pair of a plugin that is flooded and one that is not */
export async function benchHeavyBodies({ seconds = 15 } = {}): Promise<Row[]> {
  await using project = await BenchProject.create();
  for (const mode of MODES) for (const name of ["heavy", "calm"]) await project.plugin(`${name}-${mode}`, mode, SOURCE);
  using runtime = await openServer("runtime-server", ["runtime", project.root]);
  const urlOf = (plugin: string): string => `${runtime.url}/plugin/ipc/${plugin}/size`;
  const times: Record<string, number[]> = {};
  for (const heavy of MODES) {
    const worker = new Worker(new URL(import.meta.url), { workerData: urlOf(`heavy-${heavy}`) });
    const failed = new Promise<never>((_, reject) => worker.once("error", reject));
    await delay(1000);
    for (const calm of MODES) {
      const taken: number[] = (times[`${calm} beside ${heavy}`] = []);
      const end = performance.now() + seconds * 1000;
      while (performance.now() < end) {
        taken.push(await Promise.race([call(urlOf(`calm-${calm}`), Buffer.from(`{"payload":[]}`)), failed]));
        await delay(PAUSE_MS);
      }
    }
    await worker.terminate();
  }
  return Object.entries(times).map(([pair, taken]) => {
    const p99 = taken.toSorted((a, b) => a - b)[Math.floor(taken.length * 0.99)]!;
    return judged("heavy_bodies", p99, timesLine("calls", taken), pair);
  });
}

if (isMainThread) {
  if (import.meta.main) console.table(await benchHeavyBodies());
} else {
  const url = workerData as string;
  await Promise.all(Array.from({ length: CONNECTIONS }, () => flood(url)));
}
