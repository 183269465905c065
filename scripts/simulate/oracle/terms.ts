/** Terms of the oracle's questions and answers. */
import type { Rules } from "../plan.ts";
import type { Counting } from "./fleet.ts";

export interface Rollout extends Counting {
  state: "running" | "paused" | "halted" | "completed" | "aborted" | "replaced";
  rules: Rules;
  /** Number of open waves. */
  open: number;
  /** Waves that a person has approved: the number of open waves at that time. */
  approved: Set<number>;
}

/** Polling host. */
export interface Asking {
  id: string | undefined;
  labels: Record<string, string>;
  /** Undefined for a host that does not say. */
  running: string | null | undefined;
  /** Holder of its reports; undefined for nobody's. */
  holder: string | undefined;
  hostId: string;
}

export interface Answer {
  version: string | null;
  withdrawn?: string;
  next?: { version: string; notBefore: number };
}

/** Result of a command: nothing, or an error's code. */
export type Verdict = undefined | "conflict" | "not_found" | "wave_empty" | "deleted" | "own_approval";

/** Request to start a rollout, with the id that it gets. */
export interface Start {
  version: string;
  rules: Rules;
  replace: string | undefined;
  /** Whether a labelled wave may have no host. */
  allow: boolean;
  id: string;
}
