/** Rules that stored data must keep after each step. */
import type { Stored } from "./hubs.ts";
import type { Oracle } from "./oracle/oracle.ts";

/** Error of a broken rule. */
export class Broken extends Error {
  readonly rule: string;
  readonly facts: string;

  constructor(rule: string, facts: string) {
    super(`${rule}: ${facts}`);
    this.rule = rule;
    this.facts = facts;
  }
}

export function requireSame(rule: string, found: unknown, wanted: unknown): void {
  const [is, should] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (is !== should) throw new Broken(rule, `is ${is}, has to be ${should}`);
}

/** Actions of a person that end a hold. */
const ENDS_HOLD = ["start", "resume", "release", "delete"];

/** Actions of a person that end the staging of a version. */
const ENDS_STAGING = ["approve staged", "reject staged", "delete"];

/** Compares stored data with the oracle. @param deed action since the last comparison, if any */
export function checkStored(
  stored: Stored,
  before: Stored | undefined,
  oracle: Oracle,
  deed: string | undefined,
): void {
  const { target, rollouts, states } = stored;
  const latest = target.latest_version;
  if (latest !== null && oracle.deleted.has(latest)) throw new Broken("latest is never deleted", latest);
  if (latest !== null && oracle.versions.get(latest)?.isYanked === true)
    throw new Broken("latest is never yanked", latest);
  for (const [version, state] of before?.states ?? []) {
    const isHeld = states.get(version)?.state === "held" || oracle.deleted.has(version);
    if (state.state === "held" && !isHeld && !ENDS_HOLD.includes(deed ?? ""))
      throw new Broken("a hold ends only by a person", `${version} after ${deed ?? "a decision"}`);
  }
  for (const [version, state] of before?.states ?? []) {
    const isStaged = states.get(version)?.state === "staged" || oracle.deleted.has(version);
    if (state.state === "staged" && !isStaged && !ENDS_STAGING.includes(deed ?? ""))
      throw new Broken("staging ends only by a person", `${version} after ${deed ?? "a decision"}`);
  }
  if (latest !== null && states.get(latest)?.state === "staged") throw new Broken("latest is never staged", latest);
  for (const { version, state, cause, isTakenBack } of oracle.versions.values()) {
    const row = states.get(version);
    const found = [row?.state ?? "open", row?.state_cause, (row?.is_taken_back ?? 0) !== 0];
    requireSame(`the state of ${version}`, found, [state, cause, isTakenBack]);
  }
  for (const version of states.keys())
    if (!oracle.versions.has(version)) throw new Broken("only published versions have a state", version);
  requireSame("the greatest open version is the latest", latest, oracle.greatestOpen?.version ?? null);
  requireSame("a target has a gate while hosts may be answered differently", target.gate !== null, oracle.isGated);
  const found = rollouts.map(({ id, state, open }) => ({ id, state, open }));
  const wanted = oracle.rollouts.map(({ id, state, open }) => ({ id, state, open }));
  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
  requireSame("rollouts are as their commands left them", found.toSorted(byId), wanted.toSorted(byId));
  if (target.detail !== null) checkDetail(target.detail, oracle);
}

/** Compares a detail record for no particular host with the versions. */
function checkDetail(text: string, oracle: Oracle): void {
  const detail = JSON.parse(text) as {
    latest_version: string;
    versions: { version: string; state?: { name: string } }[];
  };
  requireSame(
    "the detail record shows the greatest open version",
    detail.latest_version,
    oracle.greatestOpen?.version ?? "",
  );
  for (const { version, state } of detail.versions)
    requireSame(
      `the state of ${version} in the detail record`,
      state?.name ?? "open",
      oracle.versions.published(version)?.state,
    );
}
