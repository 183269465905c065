import type { Labels } from "../../contract/labels.ts";
import { isKnown, type Knowable, type Knowing, waveOf, type Waves } from "./waves.ts";
import { isOpenAt, nextOpening, type Window } from "./window.ts";

/** Rights of hosts to the versions of a target, as stored in its row (records/latest/gate.ts). */
export interface Gate {
  /**
   * Versions that are not open and rank above the latest open one, best first. A yanked or deleted one is taken back.
   */
  above: readonly { version: string; isRolling: boolean; isTakenBack: boolean }[];
  /** Terms of the rolling version among them. */
  rolling: Rolling | undefined;
}

/** Rules that decide which hosts may have the rolling version. */
export interface Rolling extends Knowing {
  /** Seed for placing hosts in waves, so that each rollout has other hosts in its first waves. */
  id: string;
  /** False while it is paused. */
  isRunning: boolean;
  waves: Waves;
  /** Number of open waves, counted from the first. */
  open: number;
  window: Window | undefined;
}

/** Host that requests the latest version. */
export interface AskingHost extends Knowable {
  /** Host id; undefined for a host that does not name itself, or of another owner. */
  id: string | undefined;
  labels: Labels;
  /** Running version; null for none, undefined if unknown. */
  running: string | null | undefined;
}

/** Answer to a host that requests the latest version. */
export interface HostAnswer {
  version: string | null;
  /** Version that the host gets in the window, and the time before which it does not. */
  next?: { version: string; notBefore: number };
  /** Version that was taken back from the host. */
  withdrawn?: string;
  /** Newest version of the trust root that names the signers. */
  rootVersion?: number;
  /** Number that grows with each upload of settings for the project's hosts. */
  settingsVersion?: number;
}

/** Returns the wave of a host: a new one, and one without a name, is in the last one. */
const waveOfHost = (rolling: Rolling, host: AskingHost): number =>
  isKnown(rolling, host) ? waveOf(rolling.id, rolling.waves, host) : rolling.waves.count - 1;

/**
 * Answers a host with the greatest of: the open versions; the rolling one, if the host's wave and the window are open;
 * and the one that it runs, unless that was taken back (docs/contract/rollouts.md#what-latest-means). What a host
 * claims chooses its wave and keeps what it runs; it gives no right.
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
  // A host of the next wave may download the version before its wave opens.
  if (wave <= rolling.open)
    answer.next = { version: above[ahead]!.version, notBefore: nextOpening(rolling.window, now) };
  return answer;
}
