/** Measures watches over bad lines: `node scripts/bad-lines/main.ts`, in ten minutes. Needs a build. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LineFaults } from "./bad-line.ts";
import { watchOver } from "./watched-line.ts";

/** Time that each watch idles: longer than the longest time of a connection here. */
const REST_MS = 65_000;
const LINES: Record<string, LineFaults> = {
  good: {},
  "9.6 kbit/s": { bytesPerSecond: 1200 },
  "600 ms": { delayMs: 300 },
  "cut after 60 s": { cutAfterMs: 60_000 },
  "cut after 2 s": { cutAfterMs: 2000 },
  "streams buffered": { buffersStreams: true },
  "streams silent": { silencesStreams: true },
};

const folder = mkdtempSync(join(tmpdir(), "sealift-bad-lines-"));
try {
  for (const [index, [name, faults]] of Object.entries(LINES).entries()) {
    const { firstSeconds, nextSeconds, connections, isHinted } = await watchOver(join(folder, String(index)), faults, {
      restMs: REST_MS,
    });
    const times = `first ${firstSeconds.toFixed(1)} s, next ${nextSeconds.toFixed(1)} s`;
    console.log(`${name.padEnd(18)}${times}, ${connections} connections, ${isHinted ? "hints" : "polls"}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
