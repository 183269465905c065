// Apart from the schemas, so that a command that shows hosts, and `--help`, load none.

/** States of a host's settings: what it says of the newest ones, or that it has said nothing, or that it has none. */
export const HOST_SETTINGS = ["none", "waits", "applied", "failed", "not_back"] as const;
export type HostSettingsState = (typeof HOST_SETTINGS)[number];

/** Facts of a host about its settings, as hubs keep them. */
export interface SettingsFacts {
  settings_number?: number | undefined;
  settings_state?: HostSettingsState | undefined;
  settings_of?: number | undefined;
  settings_code?: string | undefined;
}

/**
 * Describes the settings of a host: `3 applied`, `4 failed (unhealthy)`, `4 not heard yet, 3 before`, `none`. Empty for
 * a host of a project that has no settings at all.
 */
export function hostSettingsText(facts: SettingsFacts): string {
  const { settings_number: number, settings_state: state, settings_of: of, settings_code: code } = facts;
  if (state === undefined) return "";
  if (state === "none") return "none";
  if (state === "waits") return `${number ?? ""} not heard yet${of === undefined ? "" : `, ${of} before`}`.trim();
  const said = state === "applied" ? "applied" : state === "failed" ? "failed" : "failed, and not back";
  const ahead = number !== undefined && number !== of ? `, the hub has ${number}` : "";
  return `${of ?? number ?? ""} ${said}${code === undefined ? "" : ` (${code})`}${ahead}`.trim();
}

/** Describes the settings of a host where nothing else says that it is about them; else as {@link hostSettingsText}. */
export function settingsNote(facts: SettingsFacts): string {
  const text = hostSettingsText(facts);
  return text === "" ? "" : text === "none" ? "no settings" : `settings ${text}`;
}

/** Words of states for sums: `990 applied, 5 not heard yet, 5 none`. */
export const SETTINGS_WORDS: Record<HostSettingsState, string> = {
  none: "none",
  waits: "not heard yet",
  applied: "applied",
  failed: "failed",
  not_back: "failed and not back",
};
