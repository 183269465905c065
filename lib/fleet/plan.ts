import { usageError } from "../contract/errors.ts";
import type { HostSettings } from "../contract/settings/records.ts";
import { counted } from "../support/counted.ts";
import type { Judged } from "./admission.ts";
import { type ChangedHosts, changesOf, type Content, contentOf } from "./contents.ts";
import { valueDigest } from "./digests.ts";
import type { Fleet } from "./fleet-file.ts";
import type { Uploaded } from "./hearing.ts";
import { type IdleEntry, matchedHosts } from "./matching.ts";
import { disbelief, type Heard, hubNumber, isAheadOfRoll, nextNumber, outcomeOf, rollIsBehind } from "./numbers.ts";
import type { Enrolled, Roll } from "./roll.ts";
import { ValueSources } from "./sources.ts";
import { hasStopped, untriedFor } from "./tried.ts";

/** Host that is about to get settings. */
export interface PlannedHost {
  host: Enrolled;
  row: HostSettings;
  number: number;
  content: Content;
}

/** Settings that an apply is about to upload. */
export interface FleetPlan {
  changes: ChangedHosts[];
  /** Hosts that get a document, those first that are likely to answer at once. */
  planned: PlannedHost[];
  /** Hosts that have all of it. */
  unchanged: number;
  /**
   * Hosts that have settings which others are about to get, and have not spoken of them, while no host has run with
   * them: an apply before has ended meanwhile.
   */
  unheard: Uploaded[];
  /** Hosts of the roll that the hub does not list under their keys. */
  absent: string[];
  /** Entries of the file that apply to no host. */
  idle: IdleEntry[];
}

/** Facts from which a plan is made. */
interface PlanFacts {
  fleet: Fleet;
  roll: Roll;
  judged: readonly Judged[];
  operatorSeed: Uint8Array;
  /** Only hosts that get anything; all without it. */
  only?: ReadonlySet<string> | undefined;
  runsCommands: boolean;
  /** Whether settings are replaced that another program has uploaded. */
  replaces: boolean;
  env?: NodeJS.ProcessEnv;
}

/** Tells whether a host needs a new document. */
function needsDocument(heard: Heard, { id, apps }: Content): boolean {
  const { host, outcome } = heard;
  const isEmpty = Object.keys(apps).length === 0;
  if (isEmpty && host.number === 0 && host.pending === undefined && hubNumber(heard) === 0) return false;
  if (id === undefined || host.content !== id || host.pending !== undefined) return true;
  if (hubNumber(heard) !== host.number) return true;
  // Only --replace comes here with a host that speaks of other settings.
  if (disbelief(heard, false) !== undefined) return true;
  // Whoever applies again wants it tried again.
  return outcome?.number === host.number && outcome.state !== "applied";
}

/**
 * Decides what an apply uploads, without a change to the roll or the hub.
 *
 * @throws UsageError `config_invalid`, `settings_unreadable`; DeploymentError `settings_conflict`
 */
export async function planOf(facts: PlanFacts): Promise<FleetPlan> {
  const { fleet, roll, judged, only, operatorSeed, runsCommands, replaces, env = process.env } = facts;
  const hosts = roll.hosts();
  if (hosts.length === 0)
    throw usageError("usage", `There is no host in ${roll.file} yet.`, {
      hint: "`sealift host invite --operator-key FILE` invites one, and `sealift settings accept` takes one that is there.",
    });
  const refused = new Set(judged.flatMap((one) => (one.state === "refused" ? [one.host?.fingerprint] : [])));
  const rows = new Map(judged.flatMap((one) => (one.state === "known" ? [[one.host.fingerprint, one.row]] : [])));
  const { groups, idle } = matchedHosts(fleet, hosts);
  const wanted = groups
    .map((group) => ({ ...group, hosts: group.hosts.filter(({ name }) => only === undefined || only.has(name)) }))
    .filter((group) => group.hosts.length > 0);
  const sources = new ValueSources({ file: fleet.file, folder: fleet.folder, env, runsCommands });
  const digest = valueDigest(operatorSeed, roll.project);
  const contents: Content[] = [];
  for (const group of wanted) contents.push(await contentOf(group, sources, digest));
  const planned: (PlannedHost & Heard)[] = [];
  const unchanged: (Heard & { content: Content })[] = [];
  const behind: string[] = [];
  const absent: string[] = [];
  for (const content of contents)
    for (const host of content.hosts) {
      const row = rows.get(host.fingerprint);
      if (row === undefined) {
        if (!refused.has(host.fingerprint)) absent.push(host.name);
        continue;
      }
      const heard = { host, row, outcome: outcomeOf(row, host, roll.project) };
      if (isAheadOfRoll(heard)) behind.push(host.name);
      if (needsDocument(heard, content)) planned.push({ ...heard, content, number: nextNumber(heard) });
      else unchanged.push({ ...heard, content });
    }
  if (behind.length > 0 && !replaces) throw rollIsBehind(behind, roll.file);
  return {
    ...{ changes: changesOf(contents, roll), planned: planned.toSorted(likelyFirst), absent, idle },
    ...{ unchanged: unchanged.length, unheard: unheardAmong(unchanged, planned) },
  };
}

/** Finds hosts whose settings others are about to get, and that nobody has heard of yet. */
function unheardAmong(
  unchanged: readonly (Heard & { content: Content })[],
  planned: readonly PlannedHost[],
): Uploaded[] {
  const about = new Set(planned.map(({ content }) => content.id));
  const hasSpoken = ({ host, outcome }: Heard): boolean => outcome !== undefined && outcome.number >= host.number;
  // Those that failed are planned anew.
  const tried = unchanged.filter((one) => hasSpoken(one) && untriedFor(one.content.apps, one.outcome!) === undefined);
  const known = new Set(tried.map(({ content }) => content.id));
  return unchanged
    .filter((one) => about.has(one.content.id) && !known.has(one.content.id) && !hasSpoken(one) && isServed(one))
    .map(({ host }) => ({ host, number: host.number, digest: host.document! }));
}

/**
 * Requires that no host loses a value which an entry for nobody gives: a slip in a label would take it away.
 *
 * @throws UsageError `config_invalid`
 */
export function requireNothingLost(file: string, { idle, changes }: Pick<FleetPlan, "idle" | "changes">): void {
  for (const { text, names } of idle) {
    const lost = changes.filter(({ removed }) => removed.some((name) => names.includes(name)));
    const count = lost.reduce((sum, { hosts }) => sum + hosts.length, 0);
    if (count === 0) continue;
    const what = `${counted(count, "host")} would lose values, and ${text.replace(/\?$/, "")}`;
    throw usageError("config_invalid", `${file}: ${what}. Nothing was uploaded.`, {
      hint: "Correct the entry, or take it out of the file.",
    });
  }
}

/** Tells whether a host is in service: nobody waits for one that an operator has taken out. */
export const isServed = ({ row }: Pick<PlannedHost, "row"> | Pick<Heard, "row">): boolean =>
  row.out_of_service === undefined;

/**
 * Orders hosts: those that failed, then those that answered last, so that the first wave says something soon. Those
 * that have tried nothing come last, as with a stopped application.
 */
function likelyFirst(a: PlannedHost & Heard, b: PlannedHost & Heard): number {
  const rank = ({ outcome, content }: PlannedHost & Heard): number => {
    if (outcome === undefined) return 1;
    if (outcome.state !== "applied") return 0;
    return hasStopped(outcome) || untriedFor(content.apps, outcome) !== undefined ? 2 : 1;
  };
  const [heardA, heardB] = [a.row.outcome_at ?? "", b.row.outcome_at ?? ""];
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (heardA !== heardB) return heardA > heardB ? -1 : 1;
  return a.host.name < b.host.name ? -1 : 1;
}

/** Share of hosts in the second wave. */
const SECOND_WAVE = 0.1;

/** Divides hosts into waves: one, ten per cent, and the rest; then those out of service, unless all are. */
export function wavesOf(hosts: readonly PlannedHost[], isAtOnce: boolean): PlannedHost[][] {
  const isAnyServed = hosts.some(isServed);
  const served = isAnyServed ? hosts.filter(isServed) : hosts;
  const out = isAnyServed ? hosts.filter((one) => !isServed(one)) : [];
  const second = 1 + Math.ceil(served.length * SECOND_WAVE);
  const waves = isAtOnce ? [[...hosts]] : [served.slice(0, 1), served.slice(1, second), served.slice(second), out];
  return waves.filter((wave) => wave.length > 0);
}
