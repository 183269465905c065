import { ACTIONS, factsOfAction } from "../lib/contract/audit-actions.ts";
import { TEST_EVENT, textsOf, WEBHOOK_EVENTS } from "../lib/contract/webhook-events.ts";

/** Tables of actions and events that pages have between their marks. */

/** The actions of the audit log, with the events of webhooks that they make happen. */
export const actionTable = (): string =>
  [
    "| action | what was done | webhook event |",
    "| --- | --- | --- |",
    ...Object.keys(ACTIONS).map((name) => {
      const { meaning, event } = factsOfAction(name)!;
      return `| \`${name}\` | ${meaning} | ${event === undefined ? "" : `\`${event}\``} |`;
    }),
  ].join("\n");

/** The events of webhooks: when they happen, for users, or their fields, for the contract. */
export const eventTable = (of: "when" | "fields"): string =>
  [
    of === "when" ? "| event | happens when |" : "| `type` | further fields of `data` |",
    "| --- | --- |",
    ...[...WEBHOOK_EVENTS, ...(of === "fields" ? ([TEST_EVENT] as const) : [])].map(
      (event) => `| \`${event}\` | ${textsOf(event)[of]} |`,
    ),
  ].join("\n");
