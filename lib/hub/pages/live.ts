import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { HubError } from "../ground/errors.ts";
import { findKey } from "../records/access.ts";
import { type View, viewState } from "../records/fleet.ts";
import type { Statements } from "../records/port.ts";
import { readPulse } from "../records/projects.ts";

/** A target that is looked at is read this often, however many look. */
const LOOK_MS = 1000;
/** Comments keep proxies from closing a stream. */
const BEAT_MS = 25_000;
/** Keys of open streams are looked at this often: those of a revoked one end. */
const RECHECK_MS = 2000;
/** A stream ends after so long, and the browser opens another one: what its key may see is looked at again. */
const LONGEST_MS = 5 * 60_000;
/** Streams of one hub; each is a connection that agents cannot have. */
const MAX_STREAMS = 500;
/** Streams of one key; a page that nobody looks at has none. */
const MAX_STREAMS_OF_KEY = 50;

/** Fleets that a page shows, and the plugin, service or project that it is about, where the key may see that. */
export interface Watched {
  views: readonly View[];
  projectId: string | undefined;
}

interface Watch {
  hearers: Set<() => void>;
  timer: NodeJS.Timeout;
}

/** Tells open pages of changes: of reports, of versions, and of rollouts, whichever hub they came to. */
export class Live implements Disposable {
  readonly #statements: Statements;
  readonly #now: () => string;
  readonly #watches = new Map<string, Watch>();
  /** By the hash of the key that they were opened with. */
  readonly #streams = new Map<string, Set<ServerResponse>>();
  #open = 0;
  #recheck: NodeJS.Timeout | undefined;
  #isChecking = false;

  /** @param now ISO 8601 */
  constructor(statements: Statements, now: () => string) {
    this.#statements = statements;
    this.#now = now;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#recheck);
    for (const streams of this.#streams.values()) for (const raw of streams) raw.end();
    for (const { timer } of this.#watches.values()) clearInterval(timer);
    this.#watches.clear();
  }

  /**
   * Answers with a stream of server-sent events until the reader leaves or the key ends.
   *
   * @throws HubError 429 beyond the bound of a key, 503 beyond that of the hub
   */
  async stream(reply: FastifyReply, keyHash: string, watched: Watched): Promise<void> {
    const headers = { "retry-after": "60" };
    if ((this.#streams.get(keyHash)?.size ?? 0) >= MAX_STREAMS_OF_KEY)
      throw new HubError(429, "rate_limited", "Too many pages are open with this key.", { headers });
    if (this.#open >= MAX_STREAMS) throw new HubError(503, "hub_unavailable", "Too many pages are open.", { headers });
    reply.hijack();
    const { raw } = reply;
    using _stream = this.#add(keyHash, raw);
    raw.on("error", () => {});
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      "x-accel-buffering": "no",
    });
    raw.write("retry: 3000\n\n");
    // A reader that takes nothing hears of the next change.
    const send = (text: string) => !raw.writableNeedDrain && raw.write(text);
    const ending = setTimeout(() => raw.end(), LONGEST_MS).unref();
    const beat = setInterval(() => send(":\n\n"), BEAT_MS).unref();
    using _watch = this.#subscribe(watched, () => send("event: change\ndata:\n\n"));
    try {
      if (!raw.destroyed && !raw.writableEnded) await once(raw, "close");
    } finally {
      clearTimeout(ending);
      clearInterval(beat);
    }
  }

  #add(keyHash: string, raw: ServerResponse): Disposable {
    const streams = this.#streams.get(keyHash) ?? new Set();
    this.#streams.set(keyHash, streams.add(raw));
    this.#open += 1;
    this.#recheck ??= setInterval(() => void this.#endRevoked(), RECHECK_MS).unref();
    return {
      [Symbol.dispose]: () => {
        this.#open -= 1;
        streams.delete(raw);
        if (streams.size === 0) this.#streams.delete(keyHash);
        if (this.#open > 0) return;
        clearInterval(this.#recheck);
        this.#recheck = undefined;
      },
    };
  }

  async #endRevoked(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      for (const [keyHash, streams] of [...this.#streams])
        if ((await findKey(this.#statements, keyHash, this.#now())) === undefined) for (const raw of streams) raw.end();
    } catch {
      // Nobody knows while the database is away.
    } finally {
      this.#isChecking = false;
    }
  }

  #subscribe(watched: Watched, hear: () => void): Disposable {
    const key = JSON.stringify(watched);
    const watch = this.#watches.get(key) ?? this.#begin(key, watched);
    watch.hearers.add(hear);
    return {
      [Symbol.dispose]: () => {
        watch.hearers.delete(hear);
        if (watch.hearers.size > 0) return;
        clearInterval(watch.timer);
        this.#watches.delete(key);
      },
    };
  }

  #begin(key: string, watched: Watched): Watch {
    let known: string | undefined;
    let isLooking = false;
    const look = async (): Promise<void> => {
      if (isLooking) return;
      isLooking = true;
      try {
        const found = await this.#stateOf(watched);
        if (known !== undefined && found !== known) for (const hear of watch.hearers) hear();
        known = found;
      } catch {
        // The page stays as it is while the database is away.
      } finally {
        isLooking = false;
      }
    };
    const watch: Watch = { hearers: new Set(), timer: setInterval(() => void look(), LOOK_MS).unref() };
    this.#watches.set(key, watch);
    void look();
    return watch;
  }

  /** Indexed reads, whose result is another one after each change. */
  async #stateOf({ views, projectId }: Watched): Promise<string> {
    const states: unknown[] = projectId === undefined ? [] : [await readPulse(this.#statements, projectId)];
    for (const view of views) states.push(await viewState(this.#statements, view));
    return JSON.stringify(states);
  }
}
