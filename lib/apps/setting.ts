import { addressNames } from "../contract/files/address-variables.ts";
import type { Application } from "../contract/files/application.ts";
import type { ApplicationGrant } from "../contract/files/applications.ts";
import { grantOf } from "../contract/files/granted.ts";
import type { Addresses } from "../contract/files/launch.ts";
import type { AppLimits } from "../contract/files/limit-forms.ts";
import { type InstalledApplication, readGrants, readInstalled } from "../releases/applications.ts";
import type { Layout } from "../releases/layout.ts";
import type { FoundMembers } from "../support/control-groups/member-groups.ts";
import { statsOf } from "../support/files.ts";
import { type Membership, membershipOf } from "./membership.ts";
import { ServeFault } from "./serve-fault.ts";
import { type RunAs, userOf } from "./user.ts";

/** Everything that a start of an application needs, read anew each time. */
export interface Setting extends InstalledApplication {
  user: RunAs;
  /** Addresses by name, those of handed-over sockets first. */
  addresses: Addresses;
  membership: Membership;
  /** Limits that the operator sets. */
  limits: AppLimits;
}

/** Facts of a host that a setting depends on, beside its files. */
export interface SettingFacts {
  /** Control groups, or why there are none. */
  found: FoundMembers;
  /** User who ran the application alone before, in this boot. */
  ranAlone: number | undefined;
}

/** Reads what is installed and what the operator grants. @throws ServeFault */
export async function readSetting(layout: Layout, id: string, facts: SettingFacts): Promise<Setting> {
  const grants = (await readGrants(layout))?.applications ?? {};
  const grant = grantOf(grants, id);
  if (grant === undefined) throw new ServeFault("not_granted", `applications.yaml does not grant ${id}.`);
  const installed = await readInstalled(layout, id);
  if (installed === undefined)
    throw new ServeFault("not_installed", `${id} is not installed here: its first deployment starts it.`);
  if (installed.app.of !== grant.of)
    throw new ServeFault(
      "not_granted",
      `${id} is of ${installed.app.of ?? "nobody"}, and applications.yaml says otherwise.`,
    );
  const user = await userOf(id, grant);
  const addresses = addressesOf(id, installed.app, grant);
  const others = user.ids === undefined ? new Map<number, string>() : await usersBeside(layout, id, grants);
  // Its user runs the application that it is of already.
  const ranBefore = grant.of !== undefined || (facts.ranAlone !== undefined && facts.ranAlone === user.ids?.uid);
  const told = await membershipOf({ ...{ id, user, grant, others, ranBefore }, found: facts.found });
  const membership = grant.of === undefined ? told : ofAnother(told, grant.of);
  return { ...installed, user, addresses, membership, limits: grant.limits ?? {} };
}

/** Returns the membership of one that is of another: a user of both tells the members of that one only. */
const ofAnother = ({ uid, ...told }: Membership, base: string): Membership =>
  uid === undefined ? told : { ...told, reason: `${told.reason}; it ends with ${base}` };

/** Returns the ids of users that are no application's alone, each with who else has it. */
async function usersBeside(
  { root, sealift }: Layout,
  id: string,
  grants: Readonly<Record<string, ApplicationGrant>>,
): Promise<Map<number, string>> {
  const users = new Map<number, string>();
  for (const [other, grant] of Object.entries(grants)) {
    // Those of one family have one user.
    if ((grant.of ?? other) === (grants[id]?.of ?? id)) continue;
    // One whose user is not to be had runs nothing.
    const ids = await userOf(other, grantOf(grants, other) ?? grant).then(
      (user) => user.ids,
      () => undefined,
    );
    if (ids !== undefined) users.set(ids.uid, `the user of ${other}`);
  }
  for (const folder of [root, sealift]) {
    const owner = (await statsOf(folder))?.uid;
    if (owner !== undefined) users.set(owner, `the owner of ${folder}`);
  }
  return users.set(process.getuid!(), "the user of `app serve`");
}

function addressesOf(id: string, app: Application, { listen }: ApplicationGrant): Addresses {
  const names = addressNames(app);
  const missing = names.filter((name) => listen[name] === undefined);
  if (missing.length > 0)
    throw new ServeFault("not_granted", `applications.yaml gives ${id} no address for ${missing.join(", ")}.`);
  return Object.fromEntries(names.map((name) => [name, listen[name]!]));
}
