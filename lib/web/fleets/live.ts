import { once } from "node:events";
import type { FastifyReply } from "fastify";
import { readMarks } from "../../contract/changes/routes.ts";
import { MAX_HINTED_TARGETS } from "../../contract/surfaces/changes.ts";
import { HubError } from "../../hub/base/errors.ts";
import { eventBytes, EventStream } from "../../hub/http/event-stream.ts";
import { type Api, type Caller, callTo } from "../page/api.ts";

/** Interval of checking the targets of one key's open pages, in milliseconds, however many pages there are. */
const LOOK_MS = 1000;
/** Interval of comments that keep proxies from closing a stream, in milliseconds. */
const BEAT_MS = 25_000;
/**
 * Longest stream, in milliseconds; the browser then opens another one, for which the key's rights are checked again.
 */
const LONGEST_MS = 5 * 60_000;
/** Streams of one hub; each is a connection that agents cannot have. */
const MAX_STREAMS = 500;
/** Most streams of one key; a hidden page has none. */
const MAX_STREAMS_OF_KEY = 50;
const CHANGED = eventBytes({ event: "change", data: "" });

/** Open page: its stream, and the targets whose changes it follows. */
interface OpenPage {
  stream: EventStream;
  targets: readonly string[];
}

/** Open pages of one key. */
class Reader implements Disposable {
  readonly pages = new Set<OpenPage>();
  readonly #api: Api;
  readonly #caller: Caller;
  readonly #timer: NodeJS.Timeout;
  #marks = new Map<string, string | undefined>();
  #looking: Promise<void> | undefined;
  #isWanted = false;

  constructor(api: Api, caller: Caller) {
    this.#api = api;
    this.#caller = caller;
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Reads the marks of all targets, and notifies the pages of those that have changed. Never rejects. */
  look(): Promise<void> {
    this.#isWanted = true;
    return (this.#looking ??= this.#lookOn().finally(() => (this.#looking = undefined)));
  }

  /** Checks once more for a page that was opened meanwhile and may follow other targets. */
  async #lookOn(): Promise<void> {
    while (this.#isWanted) await this.#lookOnce();
  }

  async #lookOnce(): Promise<void> {
    this.#isWanted = false;
    try {
      const found = await this.#read([...new Set([...this.pages].flatMap(({ targets }) => targets))]);
      const known = this.#marks;
      const hasChanged = (target: string) => known.has(target) && known.get(target) !== found.get(target);
      for (const { targets, stream } of this.pages)
        if (targets.some((target) => found.has(target) && hasChanged(target))) stream.send(CHANGED);
      this.#marks = found;
    } catch (error) {
      // The key has ended. Otherwise pages stay as they are, while the database is unreachable.
      if (error instanceof HubError && [401, 403].includes(error.statusCode))
        for (const { stream } of this.pages) stream.end();
    }
  }

  /** Reads the mark of each target; undefined for one that the key may not see. */
  async #read(targets: readonly string[]): Promise<Map<string, string | undefined>> {
    const found = new Map<string, string | undefined>();
    // Even for a page without fleets: the answer still tells whether the key is live.
    for (let start = 0; start === 0 || start < targets.length; start += MAX_HINTED_TARGETS) {
      const asked = targets.slice(start, start + MAX_HINTED_TARGETS);
      const query = { targets: asked.join(",") };
      const answer = await this.#api.call(this.#caller, callTo(readMarks, { query }));
      for (const target of asked) found.set(target, undefined);
      for (const { target, mark } of answer.targets) found.set(target, mark);
    }
    return found;
  }
}

/** Notifies open pages of changes of reports, versions, and rollouts, whichever hub received them. */
export class Live implements Disposable {
  readonly #api: Api;
  /** Open pages by the hash of their key. */
  readonly #readers = new Map<string, Reader>();
  #open = 0;

  constructor(api: Api) {
    this.#api = api;
  }

  [Symbol.dispose](): void {
    for (const reader of this.#readers.values()) {
      reader[Symbol.dispose]();
      for (const { stream } of reader.pages) stream.end();
    }
    this.#readers.clear();
  }

  /**
   * Answers with a stream of server-sent events until the reader leaves or the key ends.
   *
   * @param targets as people write them, all visible to the key
   * @throws HubError 429 beyond the limit of a key, 503 beyond that of the hub
   */
  async stream(reply: FastifyReply, caller: Caller, targets: readonly string[]): Promise<void> {
    const headers = { "retry-after": "60" };
    const keyHash = caller.visitor!.keyHash!;
    if ((this.#readers.get(keyHash)?.pages.size ?? 0) >= MAX_STREAMS_OF_KEY)
      throw new HubError(429, "rate_limited", "Too many pages are open with this key.", { headers });
    if (this.#open >= MAX_STREAMS) throw new HubError(503, "hub_unavailable", "Too many pages are open.", { headers });
    reply.hijack();
    const { raw } = reply;
    const stream = new EventStream(raw, LONGEST_MS);
    stream.begin(reply.getHeaders() as Record<string, string>, () => stream.send(CHANGED));
    using _page = this.#add(keyHash, caller, { stream, targets });
    // From here on no change is missed.
    await this.#readers.get(keyHash)!.look();
    stream.send(Buffer.from("retry: 3000\n\n"));
    const ending = setTimeout(() => stream.end(), LONGEST_MS).unref();
    const beat = setInterval(() => stream.beat(), BEAT_MS).unref();
    try {
      if (!raw.destroyed && !raw.writableEnded) await once(raw, "close");
    } finally {
      clearTimeout(ending);
      clearInterval(beat);
    }
  }

  #add(keyHash: string, caller: Caller, page: OpenPage): Disposable {
    let reader = this.#readers.get(keyHash);
    if (reader === undefined) this.#readers.set(keyHash, (reader = new Reader(this.#api, caller)));
    reader.pages.add(page);
    this.#open += 1;
    return {
      [Symbol.dispose]: () => {
        this.#open -= 1;
        reader.pages.delete(page);
        if (reader.pages.size > 0) return;
        reader[Symbol.dispose]();
        if (this.#readers.get(keyHash) === reader) this.#readers.delete(keyHash);
      },
    };
  }
}
