import type { Labels } from "../../contract/labels.ts";
import { isKnown, type Knowable, type Knowing, waveOf, type Waves } from "./waves.ts";
import { isOpenAt, nextOpening, type Window } from "./window.ts";

/** Rights of hosts to the versions of a target, as its row keeps them (records/latest/gate.ts). */
export interface Gate {
  /** Published, unyanked versions that are not open and rank above the latest open one, best first. */
  above: readonly { version: string; isRolling: boolean; isTakenBack: boolean }[];
  /** Terms of the rolling version among them. */
  rolling: Rolling | undefined;
}

/** Rules that decide which hosts may have the rolling version. */
export interface Rolling extends Knowing {
  /** Seed by which hosts are placed in waves: each rollout has other hosts in its first ones. */
  id: string;
  /** False while it is paused. */
  isRunning: boolean;
  waves: Waves;
  /** Waves that are open: the first ones. */
  open: number;
  window: Window | undefined;
}

/** A host that asks for the latest version. */
export interface AskingHost extends Knowable {
  /** Undefined for one that does not say its name, and for one of another owner. */
  id: string | undefined;
  labels: Labels;
  /** The version that it runs; null for none, undefined when nobody knows. */
  running: string | null | undefined;
}

/** The answer to a host that asks for the latest version. */
export interface HostAnswer {
  version: string | null;
  /** The version that it gets in the window, and not before it opens. */
  next?: { version: string; notBefore: number };
  /** The version that was taken back from it. */
  withdrawn?: string;
}

/** Returns the wave of a host: a new one, and one without a name, is in the last one. */
const waveOfHost = (rolling: Rolling, host: AskingHost): number =>
  isKnown(rolling, host) ? waveOf(rolling.id, rolling.waves, host) : rolling.waves.count - 1;

/**
 * Answers a host (docs/contract/rollouts.md#what-latest-means): the greatest of the open versions, the rolling one
 * where the host's wave and the window are open, and what it runs, unless that was taken back. What a host says of
 * itself chooses its wave and keeps what it runs; it gives no right.
 *
 * @param latest the greatest open version
 * @param now milliseconds since 1970
 */
export function answerTo(gate: Gate, latest: string | null, host: AskingHost, now: number): HostAnswer {
  const { above, rolling } = gate;
  const wave = rolling === undefined ? 0 : waveOfHost(rolling, host);
  const isItsTurn = rolling !== undefined && rolling.isRunning && wave < rolling.open && isOpenAt(rolling.window, now);
  const isKept = ({ version, isTakenBack }: Gate["above"][number]) => version === host.running && !isTakenBack;
  const best = above.findIndex((each) => isKept(each) || (each.isRolling && isItsTurn));
  const answer: HostAnswer = { version: best === -1 ? latest : above[best]!.version };
  if (answer.version === null) return answer;
  /** True for a version of the gate that ranks above the answer. */
  const isAbove = (index: number): boolean => index !== -1 && (best === -1 || index < best);
  const running = above.findIndex(({ version }) => version === host.running);
  // Going up is preferred to going back.
  if (isAbove(running) && above[running]!.isTakenBack) answer.withdrawn = above[running]!.version;
  const ahead = above.findIndex(({ isRolling }) => isRolling);
  if (rolling?.window === undefined || !rolling.isRunning || !isAbove(ahead)) return answer;
  // A host of the next wave may fetch the version before that opens.
  if (wave <= rolling.open)
    answer.next = { version: above[ahead]!.version, notBefore: nextOpening(rolling.window, now) };
  return answer;
}
