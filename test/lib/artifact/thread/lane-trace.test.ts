import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { traceLane } from "../../../../lib/artifact/thread/lane-trace.ts";
import { unpackFull, writeVersion } from "../../../support/forged/delta-trees.ts";

const SCRIPT = fileURLToPath(new URL("../../../../scripts/lanes.ts", import.meta.url));

interface TraceEvent {
  name: string;
  ph: string;
  tid: number;
  dur: number;
  args: { name: string; filled: number; waits: Record<string, number> };
}

/** Traces the sealing and opening of a project of some megabytes. @returns its staging folder */
async function traced(t: Test, folder: string, file: string): Promise<string> {
  const version = await writeVersion(join(folder, "source"), "1.0.0", {
    files: { "plugins/demo/large": randomBytes(6 * 1024 * 1024) },
  });
  process.env["SEALIFT_PIPELINE_TRACE"] = file;
  t.teardown(() => delete process.env["SEALIFT_PIPELINE_TRACE"]);
  return unpackFull(folder, version);
}

t.test("a trace tells how long each lane waited for which, and how full the ring was", async (t) => {
  t.equal(traceLane("any"), undefined, "nothing is traced without the variable");
  const folder = t.testdir({});
  const file = join(folder, "trace");
  await traced(t, folder, file);
  const events = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line.replace(/,$/, "")) as TraceEvent);
  const lanes = Map.groupBy(events, ({ tid }) => tid);
  const byName = new Map(lanes.values().map((own) => [own.find(({ ph }) => ph === "M")!.args.name, own]));
  t.strictSame([...byName.keys()].toSorted(), ["decode", "decrypt", "encrypt", "pack", "unpack"]);
  let waits = 0;
  for (const [name, own] of byName) {
    const whole = own.find((event) => event.name === "lane")!;
    const waited = Object.values(whole.args.waits).reduce((sum, ms) => sum + ms, 0);
    t.ok(waited >= 0 && waited <= whole.dur / 1000, `${name} waited ${waited} of ${whole.dur / 1000} ms`);
    waits += waited;
  }
  t.ok(waits > 0, "on no machine every lane has always something to do");
  t.ok(byName.get("unpack")!.some(({ ph, args }) => ph === "C" && args.filled >= 1));
  const table = execFileSync(process.execPath, [SCRIPT, file], { encoding: "utf8" });
  t.match(table, /^unpack +\d+ +\d+ +(?:ring \d+ +)?\d\.\d +\d+$/m);
  t.equal(table.trim().split("\n").length, 6);
});

t.test("a trace that cannot be written fails nothing", async (t) => {
  const folder = t.testdir({});
  const staging = await traced(t, folder, join(folder, "none", "trace"));
  t.ok(existsSync(join(staging, "plugins/demo/large")));
});
