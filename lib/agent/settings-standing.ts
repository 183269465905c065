import { parseOutcome } from "../artifact/sealed/settings.ts";
import { asSealiftError } from "../contract/errors.ts";
import type { SettingsOutcome } from "../contract/settings/texts.ts";
import type { TargetName } from "../contract/target.ts";
import { type FleetSettings, readFleetSettings } from "../releases/fleet-settings.ts";
import { stillHeld } from "../releases/holds.ts";
import type { Layout } from "../releases/layout.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";
import { OLDER_HUB } from "./settings/follow.ts";
import { HOW_TO_SET } from "./watch/decide.ts";

/** Returns what this host has signed of its newest settings; undefined for nothing, and where it cannot be read. */
function saidOf({ outcome }: FleetSettings): SettingsOutcome | undefined {
  if (outcome === null) return undefined;
  try {
    return parseOutcome(outcome.text).signed;
  } catch {
    // Nothing is known then, as before the first.
    return undefined;
  }
}

/** Checks the settings of the fleet that a target has on this host. A target without any yields nothing. */
export async function* settingsFindings(layout: Layout, target: TargetName): AsyncGenerator<Finding> {
  const check = `settings ${target}`;
  const settings = await readFleetSettings(layout, target).catch(asSealiftError);
  if (settings instanceof Error) {
    yield failed(check, settings.message, "Remove the file: the host takes the newest settings again.");
    return;
  }
  const { held, next, failed: failure, came_at: cameAt, behind, older_hub: isOlder, pinned } = settings;
  if (pinned.length > 0)
    yield ok(check, `${pinned.length === 1 ? "This operator is" : "These operators are"} pinned: ${pinned.join(", ")}`);
  if (held !== null) {
    const since = cameAt === null ? "" : `; no newer number was taken since ${cameAt}`;
    const left = pinned.includes(held.operator) ? "" : ", who is not pinned any more,";
    yield ok(check, `Number ${held.number} of the operator ${held.operator}${left} counts${since}`);
  }
  const said = held === null ? undefined : saidOf(settings);
  if (said !== undefined && said.number === held?.number && said.state !== "applied")
    yield warning(
      check,
      `Number ${said.number} has failed on this host${said.code === null ? "" : ` (${said.code})`}: nothing runs with it yet`,
      "The log of the watch and `sealift app logs` say why. Correct fleet.yaml and run `sealift settings apply`; another version tries this number again.",
    );
  if (next !== null && failure !== null)
    yield warning(
      check,
      `Number ${next.number} could not be used (${failure.code}), and what was before counts`,
      "Correct fleet.yaml and run `sealift settings apply`; another release tries this number again.",
    );
  if (isOlder) yield warning(check, OLDER_HUB, "Ask whoever runs the hub to upgrade it to 0.3.0.");
  if (behind)
    yield warning(
      check,
      "The hub has settings of a lower number than this host: it withholds newer ones, or was restored",
      "`sealift settings apply` with the newest fleet.lock uploads them again.",
    );
  const waiting = await stillHeld(layout, target, "settings").catch(() => undefined);
  if (waiting !== undefined)
    yield warning(check, `${waiting.version} waits for settings: ${waiting.message.replace(/\.$/, "")}`, HOW_TO_SET);
}
