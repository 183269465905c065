import type { Durability } from "../../lib/contract/deployment-defaults.ts";
import type { Disk } from "./disk.ts";

/** Something that a power cut is to interrupt, and what has to be true afterwards. */
export interface Scenario {
  name: string;
  /** Does it once, in a folder of its own, and returns the log of its file operations. */
  trace(folder: string, durability: Durability): Promise<Disk>;
  /**
   * Starts the real program on a state, and checks what a person relies on.
   *
   * @param folder the state, which is changed
   * @param told marks that were logged before the power went: what somebody has been told already
   * @returns sentences of what is wrong
   */
  check(folder: string, told: ReadonlySet<string>): Promise<string[]>;
}
