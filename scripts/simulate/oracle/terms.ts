/** The terms in which the oracle is asked, and answers. */
import type { Rules } from "../plan.ts";
import type { Counting } from "./fleet.ts";

export interface Rollout extends Counting {
  state: "running" | "paused" | "halted" | "completed" | "aborted" | "replaced";
  rules: Rules;
  /** Waves that are open. */
  open: number;
  /** Waves that a person lets pass: the number of open waves at that time. */
  approved: Set<number>;
}

/** A host that asks. */
export interface Asking {
  id: string | undefined;
  labels: Record<string, string>;
  /** Undefined where it does not say. */
  running: string | null | undefined;
  /** The id by which its reports are kept, and whose they are; undefined for nobody's. */
  holder: string | undefined;
  hostId: string;
}

export interface Answer {
  version: string | null;
  withdrawn?: string;
  next?: { version: string; notBefore: number };
}

/** The answer to a command: nothing, or an error's code. */
export type Verdict = undefined | "conflict" | "not_found" | "wave_empty" | "deleted" | "own_approval";

/** A request to start a rollout, with the id that it gets. */
export interface Start {
  version: string;
  rules: Rules;
  replace: string | undefined;
  /** Whether a labelled wave may have no host. */
  allow: boolean;
  id: string;
}
