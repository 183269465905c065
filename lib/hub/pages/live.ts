import { once } from "node:events";
import type { FastifyReply } from "fastify";
import { HubError } from "../ground/errors.ts";
import { type View, viewState } from "../records/fleet.ts";
import type { Statements } from "../records/port.ts";
import { readPulse } from "../records/projects.ts";

/** A target that is looked at is read this often, however many look. */
const LOOK_MS = 1000;
/** Comments keep proxies from closing a stream. */
const BEAT_MS = 25_000;
/** A stream ends after so long, and the browser opens another one: its key is looked at again. */
const LONGEST_MS = 5 * 60_000;
/** Streams of one hub; each is a connection that agents cannot have. */
const MAX_STREAMS = 500;

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
  readonly #watches = new Map<string, Watch>();
  readonly #streams = new Set<FastifyReply>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  [Symbol.dispose](): void {
    for (const { raw } of this.#streams) raw.end();
    for (const { timer } of this.#watches.values()) clearInterval(timer);
    this.#watches.clear();
  }

  /** Answers with a stream of server-sent events until the reader leaves. @throws HubError 503 beyond the bound */
  async stream(reply: FastifyReply, watched: Watched): Promise<void> {
    if (this.#streams.size >= MAX_STREAMS)
      throw new HubError(503, "hub_unavailable", "Too many pages are open.", { headers: { "retry-after": "60" } });
    reply.hijack();
    const { raw } = reply;
    this.#streams.add(reply);
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
      this.#streams.delete(reply);
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
