import { setImmediate as nextTurn } from "node:timers/promises";
import { hostFingerprint, type HostPublicKeys } from "../../../artifact/sealed/host-key.ts";
import type { HostCard, SettingsOutcome } from "../../../contract/settings/texts.ts";
import type { HostsTable } from "../../records/fleet-tables.ts";
import { nextChange } from "../../records/host-rows.ts";
import type { Transacted } from "../../records/port.ts";
import { selectWhere, updateWhere } from "../../records/rows.ts";
import { type HostSettingsTable, own } from "./tables.ts";

/**
 * Columns of `hosts` by which fleets show settings. Every write of a host's settings renews them in its transaction,
 * and so does a host that enters the fleet.
 */

type Kept = Pick<HostSettingsTable, "card" | "number" | "sealed_to" | "outcome">;
type Shown = Pick<HostsTable, "settings_number" | "settings_state" | "settings_of" | "settings_code">;

const NONE: Shown = { settings_number: null, settings_state: "none", settings_of: null, settings_code: null };

/** Hosts per statement. */
const BATCH = 500;

/** Returns the public keys of a stored card. */
export const keysOfCard = (card: string): HostPublicKeys => (JSON.parse(card) as { signed: HostCard }).signed;

/** Returns what fleets show of a host's settings. Nothing counts that is for another key than that of its card. */
export function shownSettings({ card, number, sealed_to: to, outcome: text }: Kept): Shown {
  const fingerprint = card === null ? undefined : hostFingerprint(keysOfCard(card));
  const isOwn = (whose: string | null): boolean => fingerprint === undefined || whose === fingerprint;
  const outcome = text === null ? undefined : (JSON.parse(text) as { signed: SettingsOutcome }).signed;
  const said = outcome !== undefined && isOwn(outcome.to) ? outcome : undefined;
  const settings_number = isOwn(to) ? number : null;
  const numbers = { settings_number, settings_of: said?.number ?? null };
  if (said !== undefined && said.number >= (settings_number ?? 0))
    return { ...numbers, settings_state: said.state, settings_code: said.code };
  return { ...numbers, settings_state: settings_number === null ? "none" : "waits", settings_code: null };
}

/** Renews what a project's fleet shows of the settings of hosts, where the project has settings at all. */
export async function showSettings(
  transaction: Transacted,
  projectId: string,
  hostIds: readonly string[],
): Promise<void> {
  const project = await selectWhere(transaction, "projects", { id: projectId })
    .select("settings_version")
    .executeTakeFirst();
  if ((project?.settings_version ?? null) === null) return;
  const view = { holder: "", target: projectId };
  // Locks the view's row first, as reports do: no host enters meanwhile.
  const change = await nextChange(transaction, view);
  if (change === undefined) return;
  for (let start = 0; start < hostIds.length; start += BATCH) {
    const ids = hostIds.slice(start, start + BATCH);
    const rows = await selectWhere(own(transaction), "host_settings", { project_id: projectId })
      .select(["host_id", "card", "number", "sealed_to", "outcome"])
      .where("host_id", "in", ids)
      .execute();
    const known = new Map(rows.map((row) => [row.host_id, shownSettings(row)]));
    const alike = Map.groupBy(ids, (id) => JSON.stringify(known.get(id) ?? NONE));
    for (const [shown, of] of alike)
      await updateWhere(transaction, "hosts", view)
        .set({ ...(JSON.parse(shown) as Shown), change })
        .where("host_id", "in", of)
        .execute();
  }
}

/**
 * Shows hosts of a project as without settings: with `all` those that had some, too. Other requests have turns
 * meanwhile: a fleet of 100,000 hosts takes two seconds.
 */
export async function showAsNone(transaction: Transacted, projectId: string, which: "all" | "unshown"): Promise<void> {
  const view = { holder: "", target: projectId };
  const those = which === "all" ? view : { ...view, settings_state: null };
  const next = (after: string) =>
    selectWhere(transaction, "hosts", those)
      .select("host_id")
      .where("host_id", ">", after)
      .orderBy("host_id")
      .limit(BATCH)
      .execute();
  // Locks the view's row first: a host that enters meanwhile finds that the project has settings.
  const change = await nextChange(transaction, view);
  if (change === undefined) return;
  let page = await next("");
  for (let after = ""; page.length > 0; page = await next(after)) {
    const last = page.at(-1)!.host_id;
    await updateWhere(transaction, "hosts", those)
      .set({ ...NONE, change })
      .where("host_id", ">", after)
      .where("host_id", "<=", last)
      .execute();
    after = last;
    await nextTurn();
  }
}
