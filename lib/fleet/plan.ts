import { usageError } from "../contract/errors.ts";
import type { HostSettings } from "../contract/settings/records.ts";
import { counted } from "../support/counted.ts";
import type { Judged } from "./admission.ts";
import { type ChangedHosts, changesOf, type Content, contentOf } from "./contents.ts";
import { valueDigest } from "./digests.ts";
import type { Fleet } from "./fleet-file.ts";
import { type IdleEntry, matchedHosts } from "./matching.ts";
import { type Heard, hubNumber, isAheadOfRoll, nextNumber, outcomeOf, rollIsBehind } from "./numbers.ts";
import type { Enrolled, Roll } from "./roll.ts";
import { ValueSources } from "./sources.ts";
import { hasStopped } from "./tried.ts";

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
function needsDocument(heard: Heard, { id, apps, digests }: Content): boolean {
  const { host, outcome } = heard;
  const isEmpty = id !== undefined && Object.keys(apps).length === 0 && Object.keys(digests).length === 0;
  if (isEmpty && host.number === 0 && host.pending === undefined && hubNumber(heard) === 0) return false;
  if (id === undefined || host.content !== id || host.pending !== undefined) return true;
  if (hubNumber(heard) !== host.number) return true;
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
  const behind: string[] = [];
  const absent: string[] = [];
  let unchanged = 0;
  for (const content of contents)
    for (const host of content.hosts) {
      const row = rows.get(host.fingerprint);
      if (row === undefined) {
        if (!refused.has(host.fingerprint)) absent.push(host.name);
        continue;
      }
      const heard = { host, row, outcome: outcomeOf(row, host, roll.project) };
      if (isAheadOfRoll(heard)) behind.push(host.name);
      if (isAheadOfRoll(heard) || needsDocument(heard, content))
        planned.push({ ...heard, content, number: nextNumber(heard) });
      else unchanged++;
    }
  if (behind.length > 0 && !replaces) throw rollIsBehind(behind, roll.file);
  return { changes: changesOf(contents, roll), planned: planned.toSorted(likelyFirst), unchanged, absent, idle };
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

/**
 * Orders hosts: those that failed, then those that answered last, so that the first wave says something soon. Those
 * with a stopped application come last: it tries nothing.
 */
function likelyFirst(a: PlannedHost & Heard, b: PlannedHost & Heard): number {
  const rank = ({ outcome }: Heard): number =>
    outcome !== undefined && outcome.state !== "applied" ? 0 : hasStopped(outcome) ? 2 : 1;
  const [heardA, heardB] = [a.row.outcome_at ?? "", b.row.outcome_at ?? ""];
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (heardA !== heardB) return heardA > heardB ? -1 : 1;
  return a.host.name < b.host.name ? -1 : 1;
}

/** Share of hosts in the second wave. */
const SECOND_WAVE = 0.1;

/** Divides hosts into waves: one, ten per cent, and the rest. */
export function wavesOf<T>(hosts: readonly T[], isAtOnce: boolean): T[][] {
  const second = isAtOnce ? hosts.length : 1 + Math.ceil(hosts.length * SECOND_WAVE);
  const waves = isAtOnce ? [[...hosts]] : [hosts.slice(0, 1), hosts.slice(1, second), hosts.slice(second)];
  return waves.filter((wave) => wave.length > 0);
}
