import { forbidden } from "../base/errors.ts";
import type { Locked } from "./locked.ts";
import type { Queries, Transacted, TransactedIn } from "./port.ts";
import type { Project } from "./projects.ts";
import { selectWhere, updateWhere } from "./rows.ts";

/** Rules about the approval of new versions (docs/contract/staging.md#targets-that-require-it). */

/** Name of the hub's own rule among its shared state. */
const HUB_RULE = "require-approval";

/** Columns of a target that hold its rule. */
type Rule = Pick<Project, "requires_approval" | "approval_by">;

const OF_HUB = { requires_approval: 1, approval_by: "hub" } satisfies Rule;
const NONE = { requires_approval: 0, approval_by: null } satisfies Rule;

/** Tells whether the hub requires approval for every target. */
async function isHubRule(db: Queries): Promise<boolean> {
  const state = await selectWhere(db, "hub_state", { name: HUB_RULE }).select("value").executeTakeFirst();
  return state?.value === "1";
}

/** Returns the rule of a new target: the hub's, if it has one. */
export const ruleOfNew = async (db: Queries): Promise<Rule> => ((await isHubRule(db)) ? OF_HUB : NONE);

/**
 * Sets or lifts the rule of the hub. Targets with a rule of their own keep it, and so do those for which an
 * administrator has decided.
 */
export async function setHubRule(transaction: Transacted, isRequired: boolean): Promise<void> {
  if ((await isHubRule(transaction)) === isRequired) return;
  const value = isRequired ? "1" : "0";
  await transaction
    .insertInto("hub_state")
    .values({ name: HUB_RULE, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
  const [from, to] = isRequired ? [NONE, OF_HUB] : [OF_HUB, NONE];
  await updateWhere(transaction, "projects", from).set(to).execute();
}

/**
 * Changes the rule of a target. An owner's own rule is lifted by the owner; one of an administrator or of the hub by
 * administrators alone.
 *
 * @returns whether something has changed
 * @throws HubError 403
 */
export async function changeRule<In>(
  transaction: TransactedIn<In>,
  target: Locked<Project, In>,
  { isRequired, isAdministrators }: { isRequired: boolean; isAdministrators: boolean },
): Promise<boolean> {
  const { kind, name, approval_by: by } = target;
  const isOn = target.requires_approval !== 0;
  if (!isRequired && !isOn) return false;
  if (!isRequired && !isAdministrators) {
    if (by === "administrator")
      throw forbidden(`An administrator requires approval of new versions of the ${kind} ${name}, and lifts the rule.`);
    if (by === "hub" || (await isHubRule(transaction)))
      throw forbidden("This hub requires approval of new versions (--require-approval): an administrator lifts it.");
  }
  const isOthers = isOn && (by === "administrator" || by === "hub");
  const changed: Rule = {
    requires_approval: isRequired ? 1 : 0,
    approval_by: isAdministrators ? "administrator" : !isRequired ? null : isOthers ? by : "owner",
  };
  if (changed.requires_approval === target.requires_approval && changed.approval_by === by) return false;
  await updateWhere(transaction, "projects", { id: target.id }).set(changed).execute();
  return true;
}
