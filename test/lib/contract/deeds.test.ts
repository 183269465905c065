/** The facts of a deed are those that its action has: anything else does not compile. */
import t from "tap";
import { ACTIONS, type Deed } from "../../../lib/contract/audit-actions.ts";
import type { RecordHooks } from "../../../lib/hub/records/hooks.ts";

/** Deeds that do not compile: `npm run typecheck` holds each line to it. */
const misread: (() => Deed)[] = [
  // @ts-expect-error an action that is not there
  () => ({ action: "project.move", facts: { from: "a", to: "b" } }),
  // @ts-expect-error a wrong name
  () => ({ action: "project.rename", facts: { from: "a", owner: "b" } }),
  // @ts-expect-error a fact is missing
  () => ({ action: "project.rename", facts: { from: "a" } }),
  // @ts-expect-error a fact of another type
  () => ({ action: "project.approval", facts: { required: "yes" } }),
  // @ts-expect-error an action without facts has none
  () => ({ action: "signing-key.register", facts: { owner: "a" } }),
  // @ts-expect-error facts are not left out
  () => ({ action: "key.revoke" }),
];

/** A feature that reads a fact which there is not. */
const hooks: RecordHooks = {
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
  t.ok(misread.length > 0 && hooks.name, "nobody runs them: the compiler refuses each");
  t.end();
});
