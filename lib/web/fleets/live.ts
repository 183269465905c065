import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { readMarks } from "../../contract/hints/routes.ts";
import { MAX_HINTED_TARGETS } from "../../contract/surfaces/changes.ts";
import { HubError } from "../../hub/ground/errors.ts";
import { type Api, type Caller, callTo } from "../page/api.ts";

/** The targets of one key's open pages are looked at this often, however many pages there are. */
const LOOK_MS = 1000;
/** Comments keep proxies from closing a stream. */
const BEAT_MS = 25_000;
/** A stream ends after so long, and the browser opens another one: what its key may see is looked at again. */
const LONGEST_MS = 5 * 60_000;
/** Streams of one hub; each is a connection that agents cannot have. */
const MAX_STREAMS = 500;
/** Streams of one key; a page that nobody looks at has none. */
const MAX_STREAMS_OF_KEY = 50;

/** An open page: its stream, and the targets whose changes it follows. */
interface Stream {
  raw: ServerResponse;
  targets: readonly string[];
  send: (text: string) => void;
}

/** The open pages of one key. */
class Reader implements Disposable {
  readonly streams = new Set<Stream>();
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

  /** Asks for the marks of all targets, and tells the pages of those that have changed. Never rejects. */
  look(): Promise<void> {
    this.#isWanted = true;
    return (this.#looking ??= this.#lookOn().finally(() => (this.#looking = undefined)));
  }

  /** Looks once more for a page that was opened meanwhile: its targets may be others. */
  async #lookOn(): Promise<void> {
    while (this.#isWanted) await this.#lookOnce();
  }

  async #lookOnce(): Promise<void> {
    this.#isWanted = false;
    try {
      const found = await this.#read([...new Set([...this.streams].flatMap(({ targets }) => targets))]);
      const known = this.#marks;
      const hasChanged = (target: string) => known.has(target) && known.get(target) !== found.get(target);
      for (const { targets, send } of this.streams)
        if (targets.some((target) => found.has(target) && hasChanged(target))) send("event: change\ndata:\n\n");
      this.#marks = found;
    } catch (error) {
      // The key has ended. Otherwise pages stay as they are, while the database is away.
      if (error instanceof HubError && [401, 403].includes(error.statusCode))
        for (const { raw } of this.streams) raw.end();
    }
  }

  /** Reads the mark of each target; undefined for one that the key does not see. */
  async #read(targets: readonly string[]): Promise<Map<string, string | undefined>> {
    const found = new Map<string, string | undefined>();
    // A page of fleets without any: the answer still tells whether the key lives.
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

/** Tells open pages of changes: of reports, of versions, and of rollouts, whichever hub they came to. */
export class Live implements Disposable {
  readonly #api: Api;
  /** By the hash of the key that they were opened with. */
  readonly #readers = new Map<string, Reader>();
  #open = 0;

  constructor(api: Api) {
    this.#api = api;
  }

  [Symbol.dispose](): void {
    for (const reader of this.#readers.values()) {
      reader[Symbol.dispose]();
      for (const { raw } of reader.streams) raw.end();
    }
    this.#readers.clear();
  }

  /**
   * Answers with a stream of server-sent events until the reader leaves or the key ends.
   *
   * @param targets as people write them; the key has been shown them
   * @throws HubError 429 beyond the bound of a key, 503 beyond that of the hub
   */
  async stream(reply: FastifyReply, caller: Caller, targets: readonly string[]): Promise<void> {
    const headers = { "retry-after": "60" };
    const keyHash = caller.visitor!.keyHash!;
    if ((this.#readers.get(keyHash)?.streams.size ?? 0) >= MAX_STREAMS_OF_KEY)
      throw new HubError(429, "rate_limited", "Too many pages are open with this key.", { headers });
    if (this.#open >= MAX_STREAMS) throw new HubError(503, "hub_unavailable", "Too many pages are open.", { headers });
    reply.hijack();
    const { raw } = reply;
    raw.on("error", () => {});
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      "x-accel-buffering": "no",
    });
    // A reader that takes nothing hears of the next change.
    const send = (text: string) => void (raw.writableNeedDrain || raw.write(text));
    using _stream = this.#add(keyHash, caller, { raw, targets, send });
    // From here on no change is missed.
    await this.#readers.get(keyHash)!.look();
    if (!raw.writableEnded) raw.write("retry: 3000\n\n");
    const ending = setTimeout(() => raw.end(), LONGEST_MS).unref();
    const beat = setInterval(() => send(":\n\n"), BEAT_MS).unref();
    try {
      if (!raw.destroyed && !raw.writableEnded) await once(raw, "close");
    } finally {
      clearTimeout(ending);
      clearInterval(beat);
    }
  }

  #add(keyHash: string, caller: Caller, stream: Stream): Disposable {
    let reader = this.#readers.get(keyHash);
    if (reader === undefined) this.#readers.set(keyHash, (reader = new Reader(this.#api, caller)));
    reader.streams.add(stream);
    this.#open += 1;
    return {
      [Symbol.dispose]: () => {
        this.#open -= 1;
        reader.streams.delete(stream);
        if (reader.streams.size > 0) return;
        reader[Symbol.dispose]();
        if (this.#readers.get(keyHash) === reader) this.#readers.delete(keyHash);
      },
    };
  }
}
