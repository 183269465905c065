import type { CommandFeature } from "../shell/feature.ts";
import { SettingsApply } from "./apply.ts";
import { SettingsAccept, SettingsRemove } from "./hosts.ts";
import { SettingsShow } from "./show.ts";

/** Settings of a fleet: values that only their host can read. */
export const settings: CommandFeature = {
  name: "settings",
  commands: [SettingsApply, SettingsShow, SettingsAccept, SettingsRemove],
};
