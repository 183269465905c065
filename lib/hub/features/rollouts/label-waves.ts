import { labelOf, type Labels } from "../../../contract/labels.ts";
import type { RolloutRules } from "../../../contract/rollouts/records.ts";
import { closestTo } from "../../../support/suggestion.ts";
import { HubError } from "../../base/errors.ts";
import type { FleetKey } from "../../records/fleet.ts";
import type { StoredRecord } from "../../records/host-columns.ts";
import type { Queries } from "../../records/port.ts";
import { namedHosts } from "./hosts.ts";

/** Most labels that an error names. */
const MAX_NAMED = 5;

/**
 * Requires a known host that names itself for each wave selected by a label: a typo would make a canary without hosts.
 *
 * @throws HubError 409 `wave_empty` with the labels that hosts have
 */
export async function requireHostsOfLabels(
  db: Queries,
  view: FleetKey,
  { waves, bound_hosts: onlyBound }: Pick<RolloutRules, "waves" | "bound_hosts">,
): Promise<void> {
  const wanted = waves.filter((wave) => labelOf(wave) !== undefined);
  if (wanted.length === 0) return;
  const found = new Set<string>();
  for await (const page of namedHosts(db, view))
    for (const { record, labels, is_bound: isBound } of page) {
      if (onlyBound && Number(isBound) === 0) continue;
      const own = labels === null ? (JSON.parse(record) as StoredRecord).labels : (JSON.parse(labels) as Labels);
      for (const [name, value] of Object.entries(own ?? {})) found.add(`${name}=${value}`);
    }
  const missing = wanted.filter((wave) => !found.has(wave));
  const [first] = missing;
  if (first === undefined) return;
  const near = [...found].toSorted().slice(0, MAX_NAMED);
  const meant = closestTo(first, found);
  const known =
    found.size === 0
      ? `No host that ${onlyBound ? "reports with a key of its own" : "the hub knows"} has a label.`
      : `${meant === undefined ? "" : `Did you mean ${meant}? `}Hosts have ${near.join(", ")}${found.size > near.length ? ", …" : ""}.`;
  throw new HubError(
    409,
    "wave_empty",
    `No host is labelled ${missing.join(" or ")}, so that wave would wait for one. ${known}`,
  );
}
