import type { Durability } from "../../lib/contract/deployment-defaults.ts";
import type { Disk } from "./disk.ts";

/** Work for a power cut to interrupt, and what must be true afterwards. */
export interface Scenario {
  name: string;
  /** Does it once, in a folder of its own, and returns the log of its file operations. */
  trace(folder: string, durability: Durability): Promise<Disk>;
  /**
   * Starts the real program on a state, and checks what a person relies on.
   *
   * @param folder the state, which is changed
   * @param told marks logged before the power cut: what somebody has already been told
   * @returns sentences of what is wrong
   */
  check(folder: string, told: ReadonlySet<string>): Promise<string[]>;
}
