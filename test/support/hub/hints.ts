/** Streams of hints, and hubs that share what they hint of. */
import { once } from "node:events";
import { join } from "node:path";
import { createParser } from "eventsource-parser";
import type { Test } from "tap";
import { createHub } from "../../../lib/hub/hub.ts";
import { until } from "../until.ts";
import type { RunningHub } from "./harness.ts";

export const CHANGES = "/app/deployments/v1/changes";

/** Times of a stream that is soon heard of. */
export const SHORT = { beatMs: 150, recheckMs: 300 };

interface Hint {
  id: string | undefined;
  targets: string[];
}

/** A stream of hints as an agent reads it. */
export async function follow(
  t: Test,
  hub: Pick<RunningHub, "url">,
  key: string,
  targets: string[],
  lastEventId?: string,
  more: Record<string, string> = {},
) {
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const answer = await fetch(`${hub.url}${CHANGES}?targets=${targets.join(",")}`, {
    headers: { "x-api-key": key, ...(lastEventId !== undefined && { "last-event-id": lastEventId }), ...more },
    signal: leaving.signal,
  });
  const hints: Hint[] = [];
  let comments = 0;
  let news = Promise.withResolvers<void>();
  const told = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const parser = createParser({
    onEvent: ({ id, data, event }) => {
      if (event === "changed") hints.push({ id, targets: (JSON.parse(data) as { targets: string[] }).targets });
      told();
    },
    onComment: () => {
      comments++;
      told();
    },
  });
  const ended = (async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of answer.body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
    } catch (error) {
      if (!leaving.signal.aborted) throw error;
    } finally {
      told();
    }
  })();
  return {
    status: answer.status,
    headers: answer.headers,
    hints,
    ended,
    leave: () => leaving.abort(),
    comments: () => comments,
    /** The hint after the first `count` ones. */
    async next(count: number): Promise<Hint> {
      const limit = AbortSignal.timeout(10_000);
      while (hints.length <= count) {
        limit.throwIfAborted();
        await Promise.race([news.promise, once(limit, "abort")]);
      }
      return hints[count]!;
    },
    async quiet(): Promise<void> {
      await until(() => comments > 0);
    },
  };
}

/** Follows a target's hints on two hubs. @returns what waits for the next hint on both, after the one of the start */
export async function followBoth(
  t: Test,
  [first, second]: readonly [Pick<RunningHub, "url">, Pick<RunningHub, "url">],
  { key, targets, name }: { key: string; targets: string[]; name: string },
) {
  const here = await follow(t, first, key, targets);
  const there = await follow(t, second, key, [name]);
  t.match(here.headers.get("content-type"), /^text\/event-stream/);
  t.strictSame((await here.next(0)).targets, [name], "a new stream is told to look, at what its key may see");
  await there.next(0);
  let count = 1;
  return {
    hinted: async (what: string): Promise<void> => {
      t.strictSame((await here.next(count)).targets, [name], what);
      t.strictSame((await there.next(count)).targets, [name], `${what}, on another hub`);
      count++;
    },
    leave: (): void => {
      here.leave();
      there.leave();
    },
  };
}

/** A second hub of the same database, blobs and KEKs. */
export async function startSecond(t: Test, first: RunningHub, databaseUrl: string): Promise<Pick<RunningHub, "url">> {
  const { dataDir } = first;
  const hub = await createHub({
    ...{ dataDir: join(dataDir, "second"), databaseUrl, blobUrl: join(dataDir, "blobs") },
    ...{ keks: { file: join(dataDir, "kek.json") }, listen: { host: "127.0.0.1", port: 0 } },
  });
  t.teardown(() => hub.close());
  return { url: await hub.listen() };
}
