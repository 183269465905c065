import type { CommandClass } from "clipanion";

/** The commands of a feature of the hub: they go with it. */
export interface CommandFeature {
  /** The name of the feature's folder in each room. */
  name: string;
  commands: readonly CommandClass[];
}
