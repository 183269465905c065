// Only in test:all: it starts built hubs and watches, and waits for their polls.
// Holds: that a watch deploys whatever the line does (lib/agent/watch/hints.ts, lib/agent/watch/standing-answer.ts)
import { join } from "node:path";
import t from "tap";
import { watchOver } from "../../scripts/bad-lines/watched-line.ts";

const INTERVAL_S = 2;
/** Most seconds to a deployment on a busy machine. */
const MOST_S = 40;

for (const [name, faults, hinted] of [
  ["that carries 9.6 kbit/s", { bytesPerSecond: 1200 }, true],
  ["that cuts each connection after 3 s", { cutAfterMs: 3000 }, undefined],
  ["that buffers streams", { buffersStreams: true }, false],
] as const)
  t.test(`a watch deploys over a line ${name}`, async (t) => {
    const outcome = await watchOver(join(t.testdir(), "line"), faults, { intervalS: INTERVAL_S });
    t.ok(outcome.firstSeconds < MOST_S, `first ${outcome.firstSeconds} s`);
    t.ok(outcome.nextSeconds < MOST_S, `next ${outcome.nextSeconds} s`);
    if (hinted !== undefined) t.equal(outcome.isHinted, hinted);
  });
