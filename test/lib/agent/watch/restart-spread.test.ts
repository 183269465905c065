// Only in test:all: it opens thousands of streams.
// Holds: how watches come back to a hub that has started again (lib/agent/watch/hints.ts)
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { Hints } from "../../../../lib/agent/watch/hints.ts";
import { givenTarget } from "../../../support/host/watching.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";

const STREAMS = 2000;
/** Time for which the hub is away, in milliseconds. */
const AWAY_MS = 1000;
/** Time for which a stream has lasted here when the restart cuts it, in milliseconds; in a fleet it is hours. */
const PROVEN_MS = 1000;
const WINDOW_MS = 250;
/** Most streams that may mean to come back in one window: nearly twice what an even spread over three seconds gives. */
const MOST_IN_WINDOW = 0.15 * STREAMS;

t.test(`${STREAMS} streams that a restart cuts at once do not come back at once`, async (t) => {
  const open = new Set<ServerResponse>();
  const arrivals: number[] = [];
  /** Times at which watches mean to come back after the cut. A busy machine lets them arrive in heaps all the same. */
  const planned: number[] = [];
  const serve = async (port: number): Promise<Server> => {
    const server = createServer((_request, response) => {
      arrivals.push(performance.now());
      open.add(response.on("close", () => open.delete(response)));
      response.writeHead(200, { "content-type": "text/event-stream" }).write(":\n\n");
    });
    server.listen({ port, host: "127.0.0.1", backlog: STREAMS });
    await once(server, "listening");
    return server;
  };
  const close = async (server: Server): Promise<void> => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const first = await serve(0);
  const { port } = first.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const folder = temporaryFolder(t);
  const hosts = Array.from({ length: STREAMS }, (_, index) => {
    // As after hours: a stream that has lasted is followed by the next one soon.
    const hints = new Hints({
      ...{ look() {}, flows() {}, random: Math.random },
      emit: (event) => void (event.event === "hints.lost" && planned.push(Date.parse(event.at))),
      times: { provenMs: PROVEN_MS },
    });
    const connection = { hubUrl: url, apiKey: "slk_test", hostId: `pier-${index}`, timeoutMs: 5000 };
    const target = {
      ...givenTarget(folder, { name: "plugin:tide", hub: url }),
      hints: { target: "plugin:tide", connection },
    };
    hints.replace([target]);
    return hints;
  });
  await until(() => open.size === STREAMS);
  await sleep(2 * PROVEN_MS);
  planned.length = 0;
  await close(first);
  arrivals.length = 0;
  await sleep(AWAY_MS);
  const second = await serve(port);
  const began = performance.now();
  await until(() => open.size === STREAMS);
  const [arrived, most] = [fullest(arrivals), fullest(planned)];
  t.comment(`all back after ${(Math.max(...arrivals) - began).toFixed(0)} ms, at most ${arrived} in ${WINDOW_MS} ms`);
  t.equal(planned.length, STREAMS, "each says when it comes back");
  t.ok(most <= MOST_IN_WINDOW, `${most} mean to come in the same ${WINDOW_MS} ms`);
  await Promise.all([close(second), ...hosts.map((hints) => hints[Symbol.asyncDispose]())]);
});

/** Returns how many times fall into the fullest window. @param times in milliseconds */
function fullest(times: readonly number[]): number {
  const windows = Map.groupBy(times, (at) => Math.floor(at / WINDOW_MS));
  return Math.max(...[...windows.values()].map(({ length }) => length));
}
