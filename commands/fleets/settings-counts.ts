import type { FleetHost } from "../../lib/client/fleet.ts";
import { HOST_SETTINGS, type HostSettingsState, SETTINGS_WORDS } from "../../lib/contract/settings/host-states.ts";

/** Order of states in the sum. */
const ORDER: readonly HostSettingsState[] = ["applied", "waits", "failed", "not_back", "none"];

/** Counts hosts by the state of their settings. */
export class SettingsCounts {
  readonly #counts = new Map<HostSettingsState, number>();

  note({ settings_state: state }: FleetHost): void {
    if (state !== undefined) this.#counts.set(state, (this.#counts.get(state) ?? 0) + 1);
  }

  /** Hosts by state; undefined where no host says any: the project has no settings, or its hub is older. */
  get all(): Record<HostSettingsState, number> | undefined {
    if (this.#counts.size === 0) return undefined;
    return Object.fromEntries(HOST_SETTINGS.map((state) => [state, this.#counts.get(state) ?? 0])) as Record<
      HostSettingsState,
      number
    >;
  }

  /** Describes how many hosts have their settings, and how many have none; no line where none says any. */
  lines(): string[] {
    const { all } = this;
    if (all === undefined) return [];
    const parts = ORDER.filter((state) => all[state] > 0).map((state) => `${SETTINGS_WORDS[state]} on ${all[state]}`);
    return [`settings: ${parts.join(", ")}`];
  }
}
