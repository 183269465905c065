import type { WebhookRecord, WebhookSecret } from "../../lib/contract/surfaces/webhooks.ts";
import { connection } from "../../lib/options/connection.ts";
import { webhookAddition, webhookRedelivery, webhookRemoval, webhookRotation } from "../../lib/options/webhooks.ts";
import { counted } from "../../lib/support/counted.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import type { CommandFeature } from "../shell/feature.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";

async function clientOf(options: Connected) {
  const [{ callsOf }, routes] = await Promise.all([
    import("../../lib/client/calls.ts"),
    import("../../lib/contract/webhooks/routes.ts"),
  ]);
  return callsOf(routes, hubConnection(options, DEPLOY_TIMEOUT_MS));
}

/** Finds a webhook by its name or id. @throws DeploymentError `not_found` */
async function called(options: Connected, text: string) {
  const [client, { findNamed }] = await Promise.all([clientOf(options), import("../../lib/client/lookup.ts")]);
  const webhook = await findNamed(text, client.listWebhooks(), {
    what: "webhook",
    list: "sealift webhook list",
    shown: ({ id, origin }) => `${id} (${origin})`,
  });
  return { client, webhook, params: { webhook: webhook.id } };
}

const webhooksVerb = resource("webhook", [], clientOf);
const webhookVerb = resource("webhook", ["WEBHOOK"], called);

const shownName = ({ name, id }: WebhookRecord): string => (name === "" ? id : name);

const secretLine = ({ secret }: WebhookSecret): string => `SEALIFT_WEBHOOK_SECRET=${secret}`;

const stateOf = ({ state, last_error: error }: WebhookRecord): string =>
  state === "disabled" ? "disabled" : error === null ? "works" : `fails: ${error}`;

async function targetOf(connected: ReturnType<typeof hubConnection>, text: string): Promise<string> {
  const [{ targetCalled }, { targetText }] = await Promise.all([
    import("../../lib/client/lookup.ts"),
    import("../../lib/contract/target.ts"),
  ]);
  return targetText(await targetCalled(connected, text));
}

const add = webhooksVerb("add", webhookAddition, {
  description: "Have the hub tell a receiver of versions, rollouts and failing hosts",
  details: `
    The hub sends each message as a POST that is signed by the Standard Webhooks specification, and repeats it for
    two days when the receiver does not answer with 2xx. The secret of the signatures is shown once. With
    \`--format slack\` the body is a text that Slack, Mattermost and Teams show; its URL is a secret, so give it by
    \`--webhook-url-file\`.
  `,
  examples: [
    ["All events", "$0 webhook add --name ops --webhook-url https://ops.example.org/sealift"],
    [
      "A chat hears of halts and failing hosts",
      "$0 webhook add --webhook-url-file slack.url --format slack --event rollout.halted,host.failed",
    ],
  ],
  async run(client, { options, json, print, note, done }) {
    const { webhookUrl: url, name, event, target, format } = options;
    const connected = hubConnection(options, DEPLOY_TIMEOUT_MS);
    const webhook = await client.addWebhook({
      body: {
        ...{ url, format },
        ...(name !== undefined && { name }),
        ...(event.length > 0 && { events: [...event] }),
        ...(target !== undefined && { target: await targetOf(connected, target) }),
      },
    });
    if (json) return done({ webhook });
    note(`Added ${shownName(webhook)} (${webhook.id}). Try it: sealift webhook test ${shownName(webhook)}`);
    note("Its secret is shown this once:");
    print.line(secretLine(webhook));
    return 0;
  },
});

const list = webhooksVerb("list", connection, {
  description: "List your webhooks and how they fare",
  examples: [["Which ones fail", "$0 webhook list"]],
  listed: async () => Object.keys((await import("../../lib/contract/surfaces/webhooks.ts")).webhookRecord.shape),
  run: (client, shell) =>
    showList(shell, {
      event: "webhook",
      rows: client.listWebhooks(),
      columns: {
        WEBHOOK: shownName,
        TO: ({ origin }) => origin,
        STATE: stateOf,
        WAITING: ({ pending }) => String(pending),
        DEAD: ({ dead, dropped }) => String(dead + dropped),
        LAST: ({ last_delivered_at: at }) => (at === null ? "never" : timeText(at)),
      },
      none: "No webhook yet.",
    }),
});

const deliveries = webhookVerb("deliveries", connection, {
  description: "List messages of a webhook that wait, or that never arrived",
  examples: [["Newest first", "$0 webhook deliveries ops"]],
  listed: async () => Object.keys((await import("../../lib/contract/surfaces/webhooks.ts")).deliveryRecord.shape),
  run: ({ client, params }, shell) =>
    showList(shell, {
      event: "delivery",
      rows: client.listDeliveries({ params }),
      columns: {
        MESSAGE: ({ id }) => id,
        EVENT: ({ type }) => type,
        STATE: ({ state }) => state,
        ATTEMPTS: ({ attempts }) => String(attempts),
        NEXT: ({ next_attempt_at: at }) => (at === null ? "never" : timeText(at)),
        ERROR: ({ last_error: error }) => error ?? "",
      },
      none: "No message waits, and none is dead.",
    }),
});

const test = webhookVerb("test", connection, {
  description: "Send a message to a webhook now, and tell whether it arrived",
  examples: [["Try it", "$0 webhook test ops"]],
  async run({ client, webhook, params }, { note, done }) {
    const { delivered, error } = await client.testWebhook({ params });
    if (!delivered) {
      const { deploymentError } = await import("../../lib/contract/errors.ts");
      throw deploymentError("webhook_failed", `No message reaches ${shownName(webhook)}: ${error}.`);
    }
    note(`A message has reached ${shownName(webhook)}.`);
    return done({ id: webhook.id, delivered });
  },
});

const redeliver = webhookVerb("redeliver", webhookRedelivery, {
  description: "Send messages that never arrived again",
  details: "They keep their ids, by which a receiver knows what it has had.",
  examples: [
    ["All of them", "$0 webhook redeliver ops"],
    ["One", "$0 webhook redeliver ops --delivery msg_…"],
  ],
  async run({ client, webhook, params }, { options, note, done }) {
    const { redelivered } = await client.redeliver({ params, body: { delivery: options.delivery } });
    note(`${counted(redelivered, "message")} ${redelivered === 1 ? "is" : "are"} on the way to ${shownName(webhook)}.`);
    return done({ id: webhook.id, redelivered });
  },
});

const rotate = webhookVerb("rotate", webhookRotation, {
  description: "Give a webhook another secret",
  details: "For the time of `--grace` messages are signed with both, so that no receiver misses one.",
  examples: [["Within two days", "$0 webhook rotate ops --grace 2d"]],
  async run({ client, webhook, params }, { options, json, print, note, done }) {
    const graceSeconds = Math.ceil(options.graceMs / 1000);
    const rotated = await client.rotateWebhook({ params, body: { grace_seconds: graceSeconds } });
    if (json) return done({ webhook: rotated });
    note(`${shownName(webhook)} has a new secret. It is shown this once:`);
    print.line(secretLine(rotated));
    return 0;
  },
});

const enable = webhookVerb("enable", connection, {
  description: "Enable a webhook that the hub has disabled",
  details: "The hub disables one to which nothing has arrived for five days, or that answers 410.",
  examples: [["It works again", "$0 webhook enable ops"]],
  async run({ client, webhook, params }, { note, done }, [text]) {
    const enabled = await client.enableWebhook({ params });
    note(`${shownName(webhook)} hears of events again. Send what it missed: sealift webhook redeliver ${text}`);
    return done({ webhook: enabled });
  },
});

const remove = webhookVerb("remove", webhookRemoval, {
  description: "Remove a webhook with its messages",
  examples: [["The chat is gone", "$0 webhook remove ops"]],
  async run({ client, webhook, params }, { options: { dryRun }, note, done }) {
    if (!dryRun) await client.removeWebhook({ params });
    const messages = webhook.pending + webhook.dead;
    note(`${dryRun ? "would remove" : "Removed"} ${shownName(webhook)}, and ${counted(messages, "message")} with it.`);
    return done({ id: webhook.id, messages, dry_run: dryRun });
  },
});

export const webhooks: CommandFeature = {
  name: "webhooks",
  commands: [add, deliveries, enable, list, redeliver, remove, rotate, test],
};
