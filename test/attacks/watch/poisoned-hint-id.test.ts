import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { Hints } from "../../../lib/agent/watch/hints.ts";
import { within } from "../../../lib/support/within.ts";
import { givenTarget } from "../../support/host/watching.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A hub, or a proxy before it, that names hints so that no request can say the name. */
for (const [what, id] of [
  ["no header can hold", "☃"],
  ["is too long for a header", "x".repeat(60_000)],
] as const)
  t.test(`an id of a hint that ${what} costs no later hint`, async (t) => {
    const asked: (string | undefined)[] = [];
    const again = Promise.withResolvers<void>();
    const server = createServer((request, response) => {
      asked.push(request.headers["last-event-id"] as string | undefined);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`id: ${id}\nevent: changed\ndata: {"targets":["plugin:tide"],"spread_ms":0}\n\n`);
      if (asked.length === 2) again.resolve();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.teardown(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const hints = new Hints({
      ...{ look: () => {}, flows: () => {}, emit: () => {}, random: () => 0.5 },
      times: { spreadMs: 0, firstPauseMs: 20, longestPauseMs: 80, refusedMs: 60_000 },
    });
    t.teardown(() => hints[Symbol.asyncDispose]());
    const connection = { hubUrl: url, apiKey: "slk_key", hostId: "web-1", timeoutMs: 1000 };
    hints.replace([
      { ...givenTarget(temporaryFolder(t), { name: "tide", hub: url }), hints: { target: "plugin:tide", connection } },
    ]);
    await within(again.promise, 5000, () => new Error("the hub is asked no more"));
    t.strictSame(asked, [undefined, undefined]);
  });
