import type { FastifyReply, FastifyRequest } from "fastify";
import { LEAST_BYTES_PER_SECOND } from "../../contract/deployment-defaults.ts";
import { collectGarbage } from "../../support/buffer-pacing.ts";
import { countBuffered } from "../base/buffer-collection.ts";
import { HubError } from "../base/errors.ts";
import { type Connections, giveUp } from "./connections.ts";

/** Limits of request bodies on their way in. */
export interface ArrivalLimits {
  /** Milliseconds between two looks. */
  lookMs: number;
  /** Milliseconds for which a body may arrive more slowly than {@link LEAST_BYTES_PER_SECOND}. */
  patienceMs: number;
  /** Most simultaneous uploads and imports of one owner. */
  uploadsOfOwner: number;
  /** Most bytes of one owner's uploads that have stalled. */
  stalledBytesOfOwner: number;
}

const LIMITS: ArrivalLimits = {
  lookMs: 10_000,
  patienceMs: 60_000,
  uploadsOfOwner: 32,
  stalledBytesOfOwner: 256 * 1024 * 1024,
};
const RETRY_AFTER_SECONDS = 10;
/**
 * Number of unfinished uploads and closed connections whose memory is worth a garbage collection of tens of
 * milliseconds.
 */
const MANY_UNFINISHED = 16;
const MANY_GONE = 500;

interface Arrival {
  readonly reply: FastifyReply;
  /** Bytes received on the connection when the body was first seen. */
  readonly begunAt: number;
  seen: number;
  /** Milliseconds for which the body has been too slow. */
  slowMs: number;
}

const bytesOf = ({ begunAt, seen }: Arrival): number => seen - begunAt;

/** Watches incoming bodies: one that stops or drips gets 408, and each owner has a limited number of uploads. */
export class Arrivals implements Disposable {
  readonly #connections: Connections;
  readonly #limits: ArrivalLimits;
  readonly #timer: NodeJS.Timeout;
  #arriving = new Map<FastifyReply, Arrival>();
  readonly #uploads = new Map<string, Set<Arrival>>();
  #unfinished = 0;

  constructor(connections: Connections, limits: Partial<ArrivalLimits> = {}) {
    this.#connections = connections;
    this.#limits = { ...LIMITS, ...limits };
    this.#timer = setInterval(() => this.#look(), this.#limits.lookMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /**
   * Counts an upload or import of an owner until it is answered. A stalled one is dropped to make room.
   *
   * @throws HubError 429 when the owner is at the limit, and none of the uploads has stalled
   */
  admit(request: FastifyRequest, reply: FastifyReply, owner: string): void {
    const uploads = this.#uploads.get(owner) ?? new Set();
    if (uploads.size >= this.#limits.uploadsOfOwner) {
      const stalled = slowestOf(uploads);
      if (stalled === undefined) {
        this.#unfinished++;
        request.raw.on("data", (chunk: Buffer) => countBuffered(chunk.length));
        throw new HubError(429, "rate_limited", `${uploads.size} uploads of ${owner} are under way; try again later.`, {
          headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
        });
      }
      this.#end(uploads, stalled);
    }
    const arrival = this.#arrivalOf(reply, request.raw.socket.bytesRead);
    this.#uploads.set(owner, uploads.add(arrival));
    reply.raw.once("close", () => {
      uploads.delete(arrival);
      if (!request.raw.complete) this.#unfinished++;
      if (uploads.size === 0 && this.#uploads.get(owner) === uploads) this.#uploads.delete(owner);
    });
  }

  #arrivalOf(reply: FastifyReply, bytes: number): Arrival {
    let arrival = this.#arriving.get(reply);
    if (arrival === undefined) {
      arrival = { reply, begunAt: bytes, seen: bytes, slowMs: 0 };
      this.#arriving.set(reply, arrival);
    }
    return arrival;
  }

  #look(): void {
    const { lookMs, patienceMs, stalledBytesOfOwner } = this.#limits;
    const still = new Map<FastifyReply, Arrival>();
    for (const { socket, reply } of this.#connections.busy()) {
      if (reply.request.raw.complete || reply.raw.headersSent) continue;
      const arrival = this.#arrivalOf(reply, socket.bytesRead);
      const isSlow = socket.bytesRead - arrival.seen < (LEAST_BYTES_PER_SECOND * lookMs) / 1000;
      arrival.slowMs = isSlow ? arrival.slowMs + lookMs : 0;
      arrival.seen = socket.bytesRead;
      if (arrival.slowMs > patienceMs) giveUp(reply);
      else still.set(reply, arrival);
    }
    this.#arriving = still;
    this.#giveMemoryBack();
    for (const uploads of this.#uploads.values()) {
      const stalled = (): number =>
        [...uploads].filter(({ slowMs }) => slowMs > 0).reduce((sum, arrival) => sum + bytesOf(arrival), 0);
      while (stalled() > stalledBytesOfOwner) this.#end(uploads, slowestOf(uploads)!);
    }
  }

  /** Collects garbage after a rush: V8 does not while the hub has little to do. */
  #giveMemoryBack(): void {
    const { open } = this.#connections.numbers;
    const gone = this.#connections.peak - open;
    const isWorthIt = this.#unfinished >= MANY_UNFINISHED || (gone >= MANY_GONE && gone > open);
    this.#unfinished = 0;
    if (!isWorthIt) return;
    this.#connections.peak = open;
    collectGarbage("major");
  }

  #end(uploads: Set<Arrival>, arrival: Arrival): void {
    uploads.delete(arrival);
    giveUp(arrival.reply);
  }
}

/** Returns the upload that has been slow for longest; undefined when none is slow. */
function slowestOf(uploads: Iterable<Arrival>): Arrival | undefined {
  let slowest: Arrival | undefined;
  for (const arrival of uploads) if (arrival.slowMs > (slowest?.slowMs ?? 0)) slowest = arrival;
  return slowest;
}
