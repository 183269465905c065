import type { HubFeature } from "../feature.ts";
import { Changes } from "./changes.ts";
import { hintRoutes } from "./routes.ts";
import { HintStreams, type StreamTimes } from "./streams.ts";

export interface HintOptions {
  /** Times of hint streams; {@link StreamTimes} has the defaults. */
  hintTimes?: Partial<StreamTimes>;
}

/** Hints of changes: agents wait on a stream, or ask about many targets in one request, instead of polling each. */
export const hints: HubFeature<HintOptions> = {
  name: "hints",
  async start({ database, connections, logger }, { hintTimes }) {
    await using opening = new AsyncDisposableStack();
    const changes = opening.use(new Changes(database, logger));
    const streams = opening.use(new HintStreams(changes, connections.mostEndless, hintTimes));
    const opened = opening.move();
    return {
      routes: (options) => hintRoutes(options, streams),
      // Streams at other hubs of the database hear of it when their keys are looked at again.
      async afterAudit(entry) {
        if (entry.action === "key.revoke") await streams.recheck(({ keyId }) => keyId === entry.subject);
        if (entry.action === "host.remove") await streams.recheck(({ host }) => host === entry.facts.host_id);
      },
      gauges: [
        { name: "sealift_hub_streams", help: "Streams of hints to agents now", read: () => streams.numbers.open },
        { name: "sealift_hub_streams_limit", help: "Most streams of hints", read: () => streams.numbers.most },
        {
          name: "sealift_hub_hints_sent_total",
          help: "Hints that were sent to agents",
          isCounter: true,
          read: () => streams.numbers.sent,
        },
      ],
      // A stream has no end of its own, and a closing server would wait for it.
      preClose: () => streams.close(),
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    };
  },
};
