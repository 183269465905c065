import { setTimeout as sleep } from "node:timers/promises";
import { followHints, SILENCE_MS } from "../../client/hint-stream.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { asSealiftError } from "../../contract/errors.ts";
import { type ChangeHint, MAX_HINTED_TARGETS } from "../../contract/surfaces/changes.ts";
import type { EmitWatch } from "./events.ts";
import type { WatchTarget } from "./target.ts";

/** Shortest interval between two checks of a target, in milliseconds: a hub may hint more often. */
const SHORTEST_LOOK_MS = 1000;
/** Longest wait before a check, in milliseconds: a hub may ask for more. */
const LONGEST_SPREAD_MS = 5000;
/** Most characters of target names per stream, so that any proxy accepts its request line. */
const MAX_NAME_CHARACTERS = 4000;

/** Timing of connections for hints, in milliseconds. */
export interface HintTimes {
  /** The first connection is delayed by a random part of this, and so is one after a stable stream. */
  spreadMs: number;
  /** Duration after which a stream counts as stable, so that the next attempt comes soon. */
  provenMs: number;
  silenceMs: number;
  /** First pause after an unstable stream, doubled each time. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** Pause after a refusal: a hub without hints, a key without the right. */
  refusedMs: number;
}

const TIMES: HintTimes = {
  ...{ spreadMs: 3000, provenMs: 2 * SILENCE_MS, silenceMs: SILENCE_MS },
  ...{ firstPauseMs: 5000, longestPauseMs: 5 * 60_000, refusedMs: 15 * 60_000 },
};

/** Statuses for which another attempt soon is useless. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 401, 403, 404, 405, 414, 422, 431]);

interface HintsOptions {
  /** Makes a target check its hub now. @param name of the watched target */
  look: (name: string) => void;
  /** Called when a target's hub begins or ends to say by a stream that nothing has changed. */
  flows: (name: string, isFlowing: boolean) => void;
  emit: EmitWatch;
  /** Returns a random number from 0 to 1. */
  random: () => number;
  times?: Partial<HintTimes> | undefined;
}

/** Targets that share one stream. */
interface Group {
  hub: string;
  connection: HubConnection;
  /** Names of watched targets, by the target as people write it. */
  names: Map<string, string[]>;
}

/** State of a group's connection over all of its streams. */
interface Hearing {
  lastEventId: string | undefined;
  toldAs: "nothing" | "open" | "lost";
  /** Whether the hub accepted the key since it last refused it. */
  wasOpen: boolean;
}

/** Groups targets by hub and key, each group small enough for one stream. @returns the groups by their keys */
function groupsOf(targets: readonly WatchTarget[]): Map<string, Group> {
  const groups = new Set<Group>();
  const open = new Map<string, { group: Group; characters: number }>();
  for (const { name, hub, hints } of targets.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (hints === undefined) continue;
    const { target, connection } = hints;
    const holder = JSON.stringify([hub, connection.apiKey, connection.hostId ?? null]);
    let current = open.get(holder);
    const isFull =
      current !== undefined &&
      (current.group.names.size === MAX_HINTED_TARGETS || current.characters + target.length > MAX_NAME_CHARACTERS);
    if (current === undefined || isFull) {
      current = { group: { hub, connection, names: new Map() }, characters: 0 };
      open.set(holder, current);
    }
    const { names } = current.group;
    names.set(target, [...(names.get(target) ?? []), name]);
    current.characters += target.length + 1;
    groups.add(current.group);
  }
  return new Map([...groups].map((group) => [identityOf(group), group]));
}

const identityOf = ({ hub, connection, names }: Group): string =>
  JSON.stringify([hub, connection.apiKey, connection.hostId ?? null, [...names]]);

/**
 * Listens to the hubs of a watch: one stream for all targets of a hub. A hint only makes a target check now; polls
 * continue, and are all there is while a stream is unavailable.
 */
export class Hints implements AsyncDisposable {
  readonly #options: HintsOptions;
  readonly #times: HintTimes;
  readonly #streams = new Map<string, { stop: AbortController; done: Promise<void> }>();
  readonly #ending = new Set<Promise<void>>();
  readonly #looks: Looks;

  constructor(options: HintsOptions) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
    this.#looks = new Looks(options.look);
  }

  /** Listens for these targets from now on. Streams with unchanged targets continue. */
  replace(targets: readonly WatchTarget[]): void {
    const groups = groupsOf(targets);
    for (const [identity, { stop, done }] of this.#streams) {
      if (groups.has(identity)) continue;
      this.#streams.delete(identity);
      stop.abort();
      const ended = done.finally(() => this.#ending.delete(ended));
      this.#ending.add(ended);
    }
    for (const [identity, group] of groups) {
      if (this.#streams.has(identity)) continue;
      const stop = new AbortController();
      this.#streams.set(identity, { stop, done: this.#listen(group, stop.signal) });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.replace([]);
    this.#looks[Symbol.dispose]();
    await Promise.all(this.#ending);
  }

  async #listen(group: Group, signal: AbortSignal): Promise<void> {
    const { random } = this.#options;
    const { spreadMs, provenMs } = this.#times;
    const hearing: Hearing = { lastEventId: undefined, toldAs: "nothing", wasOpen: false };
    const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});
    await pause(spreadMs * random());
    for (let failures = 0; !signal.aborted;) {
      const began = performance.now();
      const error = await this.#follow(group, signal, hearing);
      if (signal.aborted) return;
      // Whether the key is no longer accepted is for a check to say.
      if (hearing.wasOpen && error?.kind === "AuthenticationError") {
        hearing.wasOpen = false;
        this.#heard({ targets: [...group.names.keys()], spread_ms: 0 }, group.names);
      }
      if (error?.code === "host_removed") return;
      failures = performance.now() - began > provenMs ? 0 : failures + 1;
      const delay = failures === 0 ? spreadMs * random() : this.#pauseAfter(error, failures);
      const { code, message } = error ?? { code: "connection_failed" as const, message: "The stream of hints ended." };
      const at = new Date(Date.now() + delay).toISOString();
      // Repeated failures are not news.
      if (hearing.toldAs !== "lost") this.#options.emit({ event: "hints.lost", hub: group.hub, code, message, at });
      hearing.toldAs = "lost";
      await pause(delay);
    }
  }

  /** Follows one stream to its end. @returns why it failed, if it did */
  async #follow(
    { hub, connection, names }: Group,
    signal: AbortSignal,
    hearing: Hearing,
  ): Promise<ReturnType<typeof asSealiftError> | undefined> {
    try {
      await followHints(
        [...names.keys()],
        { ...connection, signal },
        {
          ...{ lastEventId: hearing.lastEventId, silenceMs: this.#times.silenceMs },
          onOpen: (isLife) => {
            hearing.toldAs = "open";
            hearing.wasOpen = true;
            if (isLife) this.#flow(names, true);
            this.#options.emit({ event: "hints.connected", hub, targets: names.size });
          },
          onHint: (hint, id) => {
            hearing.lastEventId = id ?? hearing.lastEventId;
            this.#heard(hint, names);
          },
        },
      );
      return undefined;
    } catch (thrown) {
      return asSealiftError(thrown);
    } finally {
      this.#flow(names, false);
    }
  }

  #flow(names: Group["names"], isFlowing: boolean): void {
    for (const name of [...names.values()].flat()) this.#options.flows(name, isFlowing);
  }

  #heard({ targets, spread_ms: spread }: ChangeHint, names: ReadonlyMap<string, readonly string[]>): void {
    const delay = Math.min(spread, LONGEST_SPREAD_MS) * this.#options.random();
    for (const target of targets) for (const name of names.get(target) ?? []) this.#looks.at(name, delay);
  }

  #pauseAfter(error: ReturnType<typeof asSealiftError> | undefined, failures: number): number {
    const { firstPauseMs, longestPauseMs, refusedMs } = this.#times;
    const most = REFUSALS.has(error?.status)
      ? refusedMs
      : Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 20), longestPauseMs);
    const asked = Math.min(error?.retryAfterMs ?? 0, refusedMs);
    return Math.max(most * (0.5 + this.#options.random() / 2), asked);
  }
}

/** Due checks, at most one per target in {@link SHORTEST_LOOK_MS}. */
class Looks implements Disposable {
  readonly #look: (name: string) => void;
  readonly #last = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(look: (name: string) => void) {
    this.#look = look;
  }

  /** Schedules a check of a target after a delay, unless one is already scheduled. */
  at(name: string, delayMs: number): void {
    if (this.#timers.has(name)) return;
    const now = performance.now();
    const earliest = (this.#last.get(name) ?? Number.NEGATIVE_INFINITY) + SHORTEST_LOOK_MS;
    const timer = setTimeout(
      () => {
        this.#timers.delete(name);
        this.#last.set(name, performance.now());
        this.#look(name);
      },
      Math.max(delayMs, earliest - now),
    );
    this.#timers.set(name, timer);
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
