/** The facts of a deed are those that its action has: anything else does not compile. */
import t from "tap";
import {
  type ActionFacts,
  type ActionName,
  ACTIONS,
  type AnyFacts,
  type Deed,
} from "../../../lib/contract/audit-actions.ts";
import type { AuditWriter } from "../../../lib/hub/access/audit.ts";
import { BY_HUB, insertAudit } from "../../../lib/hub/records/audit.ts";
import type { RecordHooks } from "../../../lib/hub/records/hooks.ts";
import type { Queries } from "../../../lib/hub/records/port.ts";

/** Deeds that do not compile: `npm run typecheck` holds each line to it. */
const misread: (() => Deed)[] = [
  // @ts-expect-error an action that is not there
  () => ({ action: "project.move", facts: { from: "a", to: "b" } }),
  // @ts-expect-error a wrong name
  () => ({ action: "project.rename", facts: { from: "a", owner: "b" } }),
  // @ts-expect-error a fact is missing
  () => ({ action: "project.rename", facts: { from: "a" } }),
  // @ts-expect-error one fact too many
  (): Deed => ({ action: "project.rename", facts: { from: "a", to: "b", owner: "c" } }),
  // @ts-expect-error a fact of another type
  () => ({ action: "project.approval", facts: { required: "yes" } }),
  // @ts-expect-error an action without facts has none
  () => ({ action: "signing-key.register", facts: { owner: "a" } }),
  // @ts-expect-error facts are not left out
  () => ({ action: "key.revoke" }),
];

/** Entries as the core and requests write them. */
export const written = (write: AuditWriter, db: Parameters<AuditWriter>[0], queries: Queries) => [
  () => write(db, { subject: "x", action: "project.rename", facts: { from: "a", to: "b" } }),
  () => insertAudit(queries, { subject: "x", ...BY_HUB, action: "project.rename", facts: { from: "a", to: "b" } }, 0),
  // @ts-expect-error a wrong name, in a request
  () => write(db, { subject: "x", action: "project.rename", facts: { from: "a", owner: "b" } }),
  // @ts-expect-error one fact too many, in a request
  () => write(db, { subject: "x", action: "project.rename", facts: { from: "a", to: "b", owner: "c" } }),
  () => {
    const by = { subject: "x", ...BY_HUB };
    // @ts-expect-error one fact too many, by the hub itself
    return insertAudit(queries, { ...by, action: "host.rename", facts: { from: "a", to: "b", host_id: "c" } }, 0);
  },
];

// @ts-expect-error a fact that no action has
export const nobodys: AnyFacts = { new_owner: "a" };

/** Actions that have facts, but no line in the table. */
export const strays: (stray: Exclude<keyof ActionFacts, ActionName>) => never = (stray) => stray;

/** Facts that a feature reads in its hook. */
export const hooks: RecordHooks = {
  name: "misreads",
  async onAudit(_db, { action, facts }) {
    if (action !== "project.transfer") return;
    // @ts-expect-error a fact that a transfer does not have: it was "undefined" in the database once
    String(facts.owner);
  },
};

t.test("a deed has an action of the table", (t) => {
  const deed: Deed = { action: "project.transfer", facts: { from: "a", to: "b", keep_keys: true, revoked_keys: 0 } };
  t.ok(deed.action in ACTIONS);
  t.type(misread, "object", "nobody runs them: the compiler refuses each");
  t.end();
});
