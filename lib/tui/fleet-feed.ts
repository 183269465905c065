import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { useEffect, useRef } from "react";
import { nextDelay } from "../agent/watch/schedule.ts";
import { type FleetHost, type FleetMark, readAdoption, readFleet } from "../client/fleet.ts";
import type { HubConnection } from "../client/hub-connection.ts";
import type { Code } from "../contract/codes.ts";
import { asSealiftError } from "../contract/errors.ts";
import type { Target } from "../contract/target.ts";
import { collectGarbage } from "../support/buffer-pacing.ts";
import { printable } from "../support/printable.ts";
import { FleetModel } from "./fleet-model.ts";

/** Milliseconds between two looks at a fleet; an unchanged one costs the hub one row. */
const REFRESH_MS = 5_000;
/** Hosts added before keys get their turn. */
const BATCH = 500;
/**
 * Interval of reading everything again, in milliseconds: the hub does not report when hosts were last seen as a change.
 */
const ANEW_MS = 24 * 60 * 60 * 1000;
/** Intervals of reading the last days of a fleet that changes, and of one that does not, in milliseconds. */
const ADOPTION_MS = { changed: 30_000, unchanged: 60 * 60 * 1000 };
/** Milliseconds between two pictures while a large fleet is being read. */
const PICTURE_MS = 300;

/** Sentences for keys that do not read a fleet, such as those of hosts that joined. */
const NOT_READ: Partial<Record<Code, string>> = {
  forbidden:
    "The key of this watch does not read the fleet. A host that joins by `sealift host invite --fleet` reads its numbers; `sealift fleet` with another key shows its hosts.",
  other_host: "The key of this host reads about no other one: `sealift fleet` with another key shows the hosts.",
};

/**
 * Follows the fleet of a target until the signal is aborted: reads all hosts once, then only changes. Shows an
 * unreachable hub, and retries.
 *
 * @param intervalMs milliseconds between two reads
 */
export async function followFleet(
  target: Target,
  connection: HubConnection,
  model: FleetModel,
  onChange: () => void,
  signal: AbortSignal,
  intervalMs = REFRESH_MS,
): Promise<void> {
  let mark: FleetMark = {};
  let failures = 0;
  let readAt = performance.now();
  const readDays = adoptionReader(target, connection, model);
  while (!signal.aborted) {
    if (performance.now() - readAt > ANEW_MS) mark = {};
    if (mark.etag === undefined) readAt = performance.now();
    try {
      const before = mark;
      mark = await refresh(target, { ...connection, signal }, model, mark, onChange);
      failures = 0;
      if (await readDays(mark !== before, signal)) onChange();
      if (model.error !== undefined) {
        model.error = undefined;
        onChange();
      }
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      const { code, message } = asSealiftError(error);
      model.error = NOT_READ[code] ?? printable(message);
      onChange();
    }
    const delay = nextDelay({ intervalMs, failures }, Math.random());
    await sleep(delay, undefined, { signal, ref: false }).catch(() => {});
  }
}

/** Reads the last days of a fleet from time to time. Without an answer, the screen has no graph. */
function adoptionReader(target: Target, connection: HubConnection, model: FleetModel) {
  let askedAt = Number.NEGATIVE_INFINITY;
  let isDue = true;
  /** @returns whether they were read */
  return async (hasChanged: boolean, signal: AbortSignal): Promise<boolean> => {
    isDue ||= hasChanged;
    const now = performance.now();
    if (now - askedAt < (isDue ? ADOPTION_MS.changed : ADOPTION_MS.unchanged)) return false;
    askedAt = now;
    const adoption = await readAdoption(target, { ...connection, signal }).catch(() => undefined);
    if (adoption === undefined) return false;
    model.adoption = adoption;
    isDue = false;
    return true;
  };
}

async function refresh(
  target: Target,
  options: HubConnection,
  model: FleetModel,
  mark: FleetMark,
  onChange: () => void,
): Promise<FleetMark> {
  const view = await readFleet(target, options, mark);
  if (!view.changed) return mark;
  if (view.whole) model.clear();
  let batch: FleetHost[] = [];
  let shown = Date.now();
  for await (const host of view.hosts) {
    batch.push(host);
    if (batch.length < BATCH) continue;
    model.apply(batch);
    batch = [];
    if (Date.now() - shown > PICTURE_MS) {
      shown = Date.now();
      collectGarbage("major");
      onChange();
    }
    await setImmediate();
  }
  model.apply(batch);
  // Reading a large fleet leaves a heap that is mostly empty.
  if (!model.complete) collectGarbage("major");
  model.complete = true;
  onChange();
  return view.mark;
}

/** Fleet to read, and the connection to its hub. */
export interface FollowedFleet {
  target: Target;
  connection: HubConnection;
}

/** Time for which a selection must last before its fleet is read, in milliseconds: arrow keys pass over many. */
const SETTLE_MS = 200;

/** Follows the fleet of `source` for as long as it is shown. One is kept in memory at a time. */
export function useFleet(
  name: string | undefined,
  source: FollowedFleet | undefined,
  looking: boolean,
  onChange: () => void,
  staleMs?: number,
): FleetModel | undefined {
  const kept = useRef<{ name: string; model: FleetModel } | undefined>(undefined);
  if (name !== undefined && kept.current?.name !== name) kept.current = { name, model: new FleetModel(staleMs) };
  const model = name === undefined || source === undefined ? undefined : kept.current?.model;
  useEffect(() => {
    if (model === undefined || source === undefined || !looking) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      void followFleet(source.target, source.connection, model, onChange, stop.signal);
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [model, source, looking, onChange]);
  return model;
}
