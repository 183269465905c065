import type { CommandClass } from "clipanion";

/** Commands of a feature of the hub. */
export interface CommandFeature {
  /** Name of the feature's folder in each room. */
  name: string;
  commands: readonly CommandClass[];
}
