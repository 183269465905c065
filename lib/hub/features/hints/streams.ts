import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { BEATS, type ChangeHint, HINT_EVENT } from "../../../contract/surfaces/changes.ts";
import { collectGarbage } from "../../../support/buffer-pacing.ts";
import { HubError } from "../../base/errors.ts";
import { eventBytes, EventStream } from "../../http/event-stream.ts";
import type { Changes } from "./changes.ts";
import { SentHints, type VisibleTargets } from "./sent-hints.ts";

/** Share of the hub's connections available to streams; polls and everything else need the rest. */
const PART_OF_ROOM = 3 / 4;
/** Share of the streams available to one owner. */
const PART_OF_OWNER = 3 / 4;
const RETRY_AFTER_SECONDS = 60;
/** Rechecks between two comments of a stream that asks for no other beat; each covers a part of the streams. */
const TICKS_OF_BEAT = BEATS.usual;
/** Streams written to in one turn of the event loop. */
const TOLD_AT_ONCE = 200;
/**
 * New streams after which garbage is collected: a returning fleet leaves 60 MB per ten thousand streams, which V8 would
 * not collect by itself.
 */
const COLLECT_EVERY = 1000;
/** Hub time per hinted request, in milliseconds. */
const SPREAD_OF_ONE_MS = 0.15;
const LONGEST_SPREAD_MS = 1500;

/** Timing of streams, in milliseconds. */
export interface StreamTimes {
  /** Time between two comments of a stream, which reveal a proxy that buffers the answer; a client may ask for more. */
  beatMs: number;
  /** Time between two checks of keys and rights; varies upward by up to half. */
  recheckMs: number;
  /** Time after which a stream ends whose reader takes no bytes. */
  stuckMs: number;
  /** Time for which a hub may hear of no changes before its streams end. */
  deafMs: number;
}

const TIMES: StreamTimes = { beatMs: 15_000, recheckMs: 30_000, stuckMs: 30_000, deafMs: 30_000 };

/** Key with the host and targets of its streams: streams that agree in all three share checks and hints. */
export interface HintSubscription {
  /** Identifies the key and its targets. */
  id: string;
  owner: string;
  /** Id of the key, and the host that it names. */
  keyId: string;
  host: string | undefined;
  visible: VisibleTargets;
  /** Checks again. @returns undefined when the key is no longer live, or speaks for another host by now */
  look: () => Promise<VisibleTargets | undefined>;
}

interface StreamGroup {
  subscription: HintSubscription;
  visible: VisibleTargets;
  readonly streams: Set<EventStream>;
  checkedAt: number;
}

/** Hint streams of a hub (docs/contract/hints.md). */
export class HintStreams implements AsyncDisposable {
  readonly #most: number;
  readonly #times: StreamTimes;
  readonly #sentHints = new SentHints();
  readonly #timer: NodeJS.Timeout;
  readonly #changes: Changes;
  readonly #subscription: Disposable;
  /** Groups by subscription, in the order of their last checks. */
  readonly #groups = new Map<string, StreamGroup>();
  readonly #byProject = new Map<string, Set<StreamGroup>>();
  readonly #ofOwner = new Map<string, number>();
  /** Streams by the ticks between their comments, and by the tick of those. */
  readonly #beats = new Map<number, readonly Set<EventStream>[]>();
  #ticks = 0;
  #open = 0;
  #opened = 0;
  #sent = 0;
  #telling: Promise<void> = Promise.resolve();
  #isChecking = false;
  #isClosed = false;

  /** @param room most streams at a time; undefined for no limit */
  constructor(changes: Changes, room: number | undefined, times: Partial<StreamTimes> = {}) {
    this.#times = { ...TIMES, ...times };
    this.#most = room === undefined ? Infinity : Math.max(1, Math.floor(room * PART_OF_ROOM));
    this.#changes = changes;
    this.#subscription = changes.subscribe((changed) => this.#hint(changed));
    this.#timer = setInterval(() => this.#tick(), this.#times.beatMs / TICKS_OF_BEAT).unref();
  }

  /** Streams that are open, hints that were sent, and the bound. */
  get numbers(): { open: number; sent: number; most: number | undefined } {
    const most = Number.isFinite(this.#most) ? this.#most : undefined;
    return { open: this.#open, sent: this.#sent, most };
  }

  /** Requires room for another stream of an owner. @throws HubError 503, 429 */
  requireRoom(owner: string): void {
    const headers = { "retry-after": String(RETRY_AFTER_SECONDS) };
    const refusal = this.#isDeaf
      ? "The hub cannot hear of changes now; poll instead."
      : "The hub has no room for a further stream; poll instead.";
    if (this.#isClosed || this.#open >= this.#most || this.#isDeaf)
      throw new HubError(503, "hub_unavailable", refusal, { headers });
    const most = Math.ceil(this.#most * PART_OF_OWNER);
    if ((this.#ofOwner.get(owner) ?? 0) >= most)
      throw new HubError(429, "rate_limited", `${owner} has ${most} streams; poll instead.`, { headers });
  }

  /**
   * Answers with a stream. It starts with a hint of all targets, unless `lastEventId` shows that nothing was missed.
   *
   * @param more `beat`: seconds between two comments, as {@link BEATS} has them
   * @throws HubError 503, 429 as {@link requireRoom}
   */
  open(
    response: ServerResponse,
    subscription: HintSubscription,
    headers: Record<string, string>,
    { lastEventId, beat = BEATS.usual }: { lastEventId?: string | undefined; beat?: number | undefined } = {},
  ): void {
    const { owner } = subscription;
    this.requireRoom(owner);
    // The client has disconnected meanwhile, and no event would report its end.
    if (response.destroyed) return;
    const stream = new EventStream(response, this.#times.stuckMs);
    const group = this.#groupOf(subscription);
    const beats = this.#beatsOf(beat)[this.#open % beat]!;
    group.streams.add(stream);
    beats.add(stream);
    this.#count(owner, 1);
    if (++this.#opened % COLLECT_EVERY === 0) collectGarbage("major");
    response.once("close", () => {
      group.streams.delete(stream);
      beats.delete(stream);
      this.#count(owner, -1);
      if (group.streams.size === 0) this.#forget(group);
    });
    const all = (): void => stream.send(this.#frame([...group.visible.values()], 1));
    stream.begin(headers, all);
    const missed = this.#sentHints.missed(lastEventId, group.visible);
    if (missed.length > 0) stream.send(this.#frame(missed, 1));
    else stream.beat();
  }

  /** Ends all streams, when the hub closes. */
  close(): void {
    this.#isClosed = true;
    this.#end();
  }

  /** Whether changes have not been heard of for so long that nobody may wait for them. */
  get #isDeaf(): boolean {
    return this.#changes.deafForMs > this.#times.deafMs;
  }

  #end(): void {
    for (const { streams } of this.#groups.values()) for (const stream of streams) stream.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#subscription[Symbol.dispose]();
    this.close();
    await this.#telling;
  }

  #count(owner: string, change: 1 | -1): void {
    this.#open += change;
    const count = (this.#ofOwner.get(owner) ?? 0) + change;
    if (count === 0) this.#ofOwner.delete(owner);
    else this.#ofOwner.set(owner, count);
  }

  #groupOf(subscription: HintSubscription): StreamGroup {
    const known = this.#groups.get(subscription.id);
    if (known !== undefined) return known;
    const group: StreamGroup = { subscription, visible: new Map(), streams: new Set(), checkedAt: performance.now() };
    this.#groups.set(subscription.id, group);
    this.#see(group, subscription.visible);
    return group;
  }

  /** Sets the targets that a group may see. */
  #see(group: StreamGroup, visible: VisibleTargets): void {
    for (const id of group.visible.keys()) {
      const others = this.#byProject.get(id);
      others?.delete(group);
      if (others?.size === 0) this.#byProject.delete(id);
    }
    group.visible = visible;
    for (const id of visible.keys()) {
      const others = this.#byProject.get(id) ?? new Set();
      this.#byProject.set(id, others.add(group));
    }
  }

  #forget(group: StreamGroup): void {
    if (this.#groups.get(group.subscription.id) === group) this.#groups.delete(group.subscription.id);
    this.#see(group, new Map());
  }

  #frame(targets: readonly string[], told: number): Buffer {
    const hint: ChangeHint = {
      targets: [...targets],
      spread_ms: Math.min(Math.floor(told * SPREAD_OF_ONE_MS), LONGEST_SPREAD_MS),
    };
    return eventBytes({ id: this.#sentHints.id, event: HINT_EVENT, data: JSON.stringify(hint) });
  }

  /** Sends hints to all streams that may see a changed target. */
  #hint(changed: ReadonlySet<string> | undefined): void {
    this.#sentHints.add(changed);
    const groups =
      changed === undefined
        ? [...this.#groups.values()]
        : [...new Set([...changed].flatMap((id) => [...(this.#byProject.get(id) ?? [])]))];
    const streamCount = groups.reduce((sum, { streams }) => sum + streams.size, 0);
    const frames = groups.map((group): [StreamGroup, Buffer] => {
      const named = [...group.visible].flatMap(([id, name]) => ((changed?.has(id) ?? true) ? [name] : []));
      return [group, this.#frame(named, streamCount)];
    });
    this.#telling = this.#telling.then(() => this.#tell(frames));
  }

  async #tell(frames: readonly [StreamGroup, Buffer][]): Promise<void> {
    let told = 0;
    for (const [{ streams }, frame] of frames) {
      for (const stream of streams) {
        stream.send(frame);
        this.#sent++;
        if (++told % TOLD_AT_ONCE === 0) await setImmediate();
      }
    }
  }

  #beatsOf(ticks: number): readonly Set<EventStream>[] {
    const known = this.#beats.get(ticks) ?? Array.from({ length: ticks }, () => new Set<EventStream>());
    this.#beats.set(ticks, known);
    return known;
  }

  #tick(): void {
    this.#ticks++;
    // A stream that hints nothing says that nothing has changed.
    if (this.#isDeaf) return this.#end();
    for (const [ticks, beats] of this.#beats) for (const stream of beats[this.#ticks % ticks]!) stream.beat();
    void this.#recheck();
  }

  /** Rechecks the keys and rights that were checked longest ago. Never rejects. */
  async #recheck(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const { beatMs, recheckMs } = this.#times;
    const before = performance.now() - recheckMs;
    // Streams opened at the same moment are spread over half of the time.
    const most = Math.ceil((this.#groups.size * 2 * beatMs) / TICKS_OF_BEAT / recheckMs);
    const due = this.#groups
      .values()
      .filter(({ checkedAt }) => checkedAt < before)
      .take(most)
      .toArray();
    try {
      for (const group of due) await this.#check(group);
    } catch {
      // The database is unreachable, so it reports no changes either.
    } finally {
      this.#isChecking = false;
    }
  }

  /** Checks keys and rights of some streams now: what ended them should be heard at once. Never rejects. */
  async recheck(isOf: (subscription: HintSubscription) => boolean): Promise<void> {
    const groups = [...this.#groups.values()].filter(({ subscription }) => isOf(subscription));
    for (const group of groups) await this.#check(group).catch(() => undefined);
  }

  async #check(group: StreamGroup): Promise<void> {
    const { subscription, streams } = group;
    const visible = await subscription.look();
    if (this.#groups.get(subscription.id) !== group) return;
    this.#groups.delete(subscription.id);
    this.#groups.set(subscription.id, group);
    group.checkedAt = performance.now();
    if (visible === undefined || visible.size === 0) {
      this.#forget(group);
      for (const stream of streams) stream.end();
      return;
    }
    const seen = group.visible;
    this.#see(group, visible);
    // Whoever waits for one that it may see no longer is told so by the call for its latest version.
    const others = [...[...visible].filter(([id]) => !seen.has(id)), ...[...seen].filter(([id]) => !visible.has(id))];
    const names = [...new Set(others.map(([, name]) => name))];
    if (names.length > 0) for (const stream of streams) stream.send(this.#frame(names, streams.size));
  }
}
