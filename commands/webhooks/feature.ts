import { Command, Option } from "clipanion";
import type { DevkeysClient } from "../../lib/client/devkeys-client.ts";
import type { WebhookRecord, WebhookSecret } from "../../lib/contract/surfaces/webhooks.ts";
import { connection } from "../../lib/options/connection.ts";
import { webhookAddition, webhookRedelivery, webhookRemoval, webhookRotation } from "../../lib/options/webhooks.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import { showList, timeText } from "../shell/output/listing.ts";

const WEBHOOK = { required: true, name: "WEBHOOK" } as const;

type Connected = Parameters<typeof hubConnection>[0];

async function clientOf(options: Connected): Promise<DevkeysClient> {
  const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
  return new DevkeysClient(hubConnection(options, DEPLOY_TIMEOUT_MS));
}

/** The webhook that a person calls by its name or id. @throws DeploymentError `not_found` */
async function called(options: Connected, text: string): Promise<{ client: DevkeysClient; webhook: WebhookRecord }> {
  const { webhookCalled } = await import("../../lib/client/lookup.ts");
  const client = await clientOf(options);
  return { client, webhook: await webhookCalled(client, text) };
}

const shownName = ({ name, id }: WebhookRecord): string => (name === "" ? id : name);

const secretLine = ({ secret }: WebhookSecret): string => `SEALIFT_WEBHOOK_SECRET=${secret}`;

export class WebhookAdd extends withOptions(webhookAddition) {
  static override paths = [["webhook", "add"]];
  static override usage = Command.Usage({
    category: "Hub",
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
  });

  override async run(): Promise<number> {
    const { webhookUrl: url, name, event, target, format } = this.options;
    const connected = hubConnection(this.options, DEPLOY_TIMEOUT_MS);
    const webhook = await (
      await clientOf(this.options)
    ).addWebhook({
      ...{ url, format },
      ...(name !== undefined && { name }),
      ...(event.length > 0 && { events: [...event] }),
      ...(target !== undefined && { target: await targetOf(connected, target) }),
    });
    if (this.json) return this.done({ webhook });
    this.note(`Added ${shownName(webhook)} (${webhook.id}). Try it: sealift webhook test ${shownName(webhook)}`);
    this.note("Its secret is shown this once:");
    this.print.line(secretLine(webhook));
    return 0;
  }
}

async function targetOf(connected: ReturnType<typeof hubConnection>, text: string): Promise<string> {
  const [{ targetCalled }, { targetText }] = await Promise.all([
    import("../../lib/client/lookup.ts"),
    import("../../lib/contract/target.ts"),
  ]);
  return targetText(await targetCalled(connected, text));
}

export class WebhookList extends withOptions(connection) {
  static override paths = [["webhook", "list"]];
  static override listed = async () =>
    Object.keys((await import("../../lib/contract/surfaces/webhooks.ts")).webhookRecord.shape);
  static override usage = Command.Usage({
    category: "Hub",
    description: "List your webhooks and how they fare",
    examples: [["Which ones fail", "$0 webhook list"]],
  });

  override async run(): Promise<number> {
    return showList(this.surroundings(), {
      event: "webhook",
      rows: (await clientOf(this.options)).listWebhooks(),
      columns: {
        WEBHOOK: shownName,
        TO: ({ origin }) => origin,
        STATE: stateOf,
        WAITING: ({ pending }) => String(pending),
        DEAD: ({ dead, dropped }) => String(dead + dropped),
        LAST: ({ last_delivered_at: at }) => (at === null ? "never" : timeText(at)),
      },
      none: "No webhook yet.",
    });
  }
}

const stateOf = ({ state, last_error: error }: WebhookRecord): string =>
  state === "disabled" ? "disabled" : error === null ? "works" : `fails: ${error}`;

export class WebhookDeliveries extends withOptions(connection) {
  static override paths = [["webhook", "deliveries"]];
  static override listed = async () =>
    Object.keys((await import("../../lib/contract/surfaces/webhooks.ts")).deliveryRecord.shape);
  static override usage = Command.Usage({
    category: "Hub",
    description: "List messages of a webhook that wait, or that never arrived",
    examples: [["Newest first", "$0 webhook deliveries ops"]],
  });

  webhook = Option.String(WEBHOOK);

  override async run(): Promise<number> {
    const { client, webhook } = await called(this.options, this.webhook);
    return showList(this.surroundings(), {
      event: "delivery",
      rows: client.listDeliveries(webhook.id),
      columns: {
        MESSAGE: ({ id }) => id,
        EVENT: ({ type }) => type,
        STATE: ({ state }) => state,
        ATTEMPTS: ({ attempts }) => String(attempts),
        NEXT: ({ next_attempt_at: at }) => (at === null ? "never" : timeText(at)),
        ERROR: ({ last_error: error }) => error ?? "",
      },
      none: "No message waits, and none is dead.",
    });
  }
}

export class WebhookTest extends withOptions(connection) {
  static override paths = [["webhook", "test"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Send a message to a webhook now, and tell whether it arrived",
    examples: [["Try it", "$0 webhook test ops"]],
  });

  webhook = Option.String(WEBHOOK);

  override async run(): Promise<number> {
    const { client, webhook } = await called(this.options, this.webhook);
    const { delivered, error } = await client.testWebhook(webhook.id);
    if (!delivered) {
      const { deploymentError } = await import("../../lib/contract/errors.ts");
      throw deploymentError("webhook_failed", `No message reaches ${shownName(webhook)}: ${error}.`);
    }
    this.note(`A message has reached ${shownName(webhook)}.`);
    return this.done({ id: webhook.id, delivered });
  }
}

export class WebhookRedeliver extends withOptions(webhookRedelivery) {
  static override paths = [["webhook", "redeliver"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Send messages that never arrived again",
    details: "They keep their ids, by which a receiver knows what it has had.",
    examples: [
      ["All of them", "$0 webhook redeliver ops"],
      ["One", "$0 webhook redeliver ops --delivery msg_…"],
    ],
  });

  webhook = Option.String(WEBHOOK);

  override async run(): Promise<number> {
    const { client, webhook } = await called(this.options, this.webhook);
    const redelivered = await client.redeliver(webhook.id, this.options.delivery);
    this.note(`${redelivered} messages are on their way to ${shownName(webhook)}.`);
    return this.done({ id: webhook.id, redelivered });
  }
}

export class WebhookRotate extends withOptions(webhookRotation) {
  static override paths = [["webhook", "rotate"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Give a webhook another secret",
    details: "For the time of `--grace` messages are signed with both, so that no receiver misses one.",
    examples: [["Within two days", "$0 webhook rotate ops --grace 2d"]],
  });

  webhook = Option.String(WEBHOOK);

  override async run(): Promise<number> {
    const { client, webhook } = await called(this.options, this.webhook);
    const rotated = await client.rotateWebhook(webhook.id, Math.ceil(this.options.graceMs / 1000));
    if (this.json) return this.done({ webhook: rotated });
    this.note(`${shownName(webhook)} has a new secret. It is shown this once:`);
    this.print.line(secretLine(rotated));
    return 0;
  }
}

export class WebhookEnable extends withOptions(connection) {
  static override paths = [["webhook", "enable"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Enable a webhook that the hub has disabled",
    details: "The hub disables one to which nothing has arrived for five days, or that answers 410.",
    examples: [["It works again", "$0 webhook enable ops"]],
  });

  webhook = Option.String(WEBHOOK);

  override async run(): Promise<number> {
    const { client, webhook } = await called(this.options, this.webhook);
    const enabled = await client.enableWebhook(webhook.id);
    this.note(
      `${shownName(webhook)} hears of events again. Send what it missed: sealift webhook redeliver ${this.webhook}`,
    );
    return this.done({ webhook: enabled });
  }
}

export class WebhookRemove extends withOptions(webhookRemoval) {
  static override paths = [["webhook", "remove"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Remove a webhook with its messages",
    examples: [["The chat is gone", "$0 webhook remove ops"]],
  });

  webhook = Option.String(WEBHOOK);

  override async run(): Promise<number> {
    const { client, webhook } = await called(this.options, this.webhook);
    const { dryRun } = this.options;
    if (!dryRun) await client.removeWebhook(webhook.id);
    const messages = webhook.pending + webhook.dead;
    this.note(`${dryRun ? "would remove" : "Removed"} ${shownName(webhook)}, and ${messages} messages with it.`);
    return this.done({ id: webhook.id, messages, dry_run: dryRun });
  }
}
