import { ACTIONS, factsOfAction } from "../lib/contract/audit-actions.ts";
import { TEST_EVENT, textsOf, WEBHOOK_EVENTS } from "../lib/contract/webhook-events.ts";

/** Tables of actions and events that pages have between their marks. */

/** Returns the table of actions in the audit log, with the events of webhooks that they cause. */
export const actionTable = (): string =>
  [
    "| action | what was done | webhook event |",
    "| --- | --- | --- |",
    ...Object.keys(ACTIONS).map((name) => {
      const { meaning, event } = factsOfAction(name)!;
      return `| \`${name}\` | ${meaning} | ${event === undefined ? "" : `\`${event}\``} |`;
    }),
  ].join("\n");

/** Returns the table of webhook events: when they happen, and what their messages contain. */
export const eventTable = (): string =>
  [
    "| event | happens when | further fields of `data` |",
    "| --- | --- | --- |",
    ...([...WEBHOOK_EVENTS, TEST_EVENT] as const).map((event) => {
      const { when, fields } = textsOf(event);
      return `| \`${event}\` | ${when} | ${fields} |`;
    }),
  ].join("\n");
