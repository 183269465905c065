import type { DeliveryRecord, WebhookRecord, WebhookSecret, WebhookTest } from "../../../contract/surfaces/webhooks.ts";
import { WEBHOOK_EVENTS, WEBHOOK_FORMATS } from "../../../contract/webhook-events.ts";
import { Act, Ask, Field, Opened, Remove, Select } from "../../page/forms.tsx";
import { Layout } from "../../page/layout.tsx";
import { Badge, Empty, Facts, Go, Pager, Secrets, Table, Time } from "../../page/parts.tsx";
import { webhookPath, webhooksPath } from "./paths.ts";

const titleOf = ({ name, id }: WebhookRecord): string => (name === "" ? id : name);

function State({ webhook: { state, failing_since: failing } }: { webhook: WebhookRecord }) {
  if (state === "disabled") return <Badge tone="bad">disabled</Badge>;
  return failing === null ? <Badge tone="good">works</Badge> : <Badge tone="warn">fails</Badge>;
}

/** The own webhooks, and a form for a new one. */
export const WebhooksPage = ({ items }: { items: WebhookRecord[] }) => (
  <Layout title="Webhooks">
    <h1>Webhooks</h1>
    <Opened className="panel" title="Add a webhook" to={webhooksPath}>
      <Field
        label="URL"
        name="url"
        type="url"
        required
        maxLength={2048}
        placeholder="https://ops.example.org/sealift"
      />
      <Field label="Name" name="name" maxLength={128} placeholder="ops" />
      <Field label="Only for" name="target" maxLength={300} placeholder="plugin:SLUG, service:SLUG or project:ID" />
      <fieldset>
        <legend>It hears of (all, unless chosen)</legend>
        {WEBHOOK_EVENTS.map((event) => (
          <label key={event} className="check">
            <input type="checkbox" name="event" value={event} />
            <span>{event}</span>
          </label>
        ))}
      </fieldset>
      <Select label="Format" name="format" of={WEBHOOK_FORMATS.map((format) => [format, format])} />
      <button>Add the webhook</button>
    </Opened>
    <Table
      label="Webhooks"
      empty={
        <Empty title="No webhooks yet." command="sealift webhook add --name ops --webhook-url-file receiver.url">
          The hub tells them of versions, rollouts and failing hosts. Add one here, or with:
        </Empty>
      }
      columns={["Name", "State", "Hears of", "Target", ["Waiting", "num"], ["Dead", "num"], "Last delivered"]}
      rows={items.map((webhook) => [
        webhook.id,
        <>
          <Go to={webhookPath(webhook.id)}>{titleOf(webhook)}</Go>
          <p className="slug">{webhook.origin}</p>
        </>,
        <State webhook={webhook} />,
        webhook.events.length === 0 ? "all events" : webhook.events.join(", "),
        webhook.target ?? "all",
        webhook.pending,
        webhook.dead,
        <Time at={webhook.last_delivered_at} none="never" />,
      ])}
    />
  </Layout>
);

/** The secret of a webhook, new or rotated: the only time that it is shown. */
export const WebhookSecretPage = ({ webhook }: { webhook: WebhookSecret }) => (
  <Layout title={`Secret of ${titleOf(webhook)}`}>
    <Secrets
      title={titleOf(webhook)}
      notice="Copy the secret now. The hub does not show it again."
      of={{ Secret: webhook.secret }}
    >
      <Go to={webhookPath(webhook.id)}>Go to the webhook</Go>
    </Secrets>
  </Layout>
);

/** Hours for which the old secret still signs. */
const GRACES = [
  ["24", "a day"],
  ["168", "a week"],
  ["0", "no time: it has leaked"],
] as const;

export interface WebhookView {
  webhook: WebhookRecord;
  deliveries: DeliveryRecord[];
  cursor: string;
  next: string | null;
  /** The outcome of a message that was just sent. */
  tested: WebhookTest | undefined;
}

/** A webhook with the messages that wait, or that never arrived. */
export function WebhookPage({ webhook, deliveries, cursor, next, tested }: WebhookView) {
  const here = webhookPath(webhook.id);
  const title = titleOf(webhook);
  return (
    <Layout title={title}>
      <div className="title-row">
        <h1>{title}</h1>
        <State webhook={webhook} />
      </div>
      {tested !== undefined && (
        <p className={`notice ${tested.delivered ? "warn" : "bad"}`} role="status">
          {tested.delivered ? "The message has arrived." : `The message has not arrived: ${tested.error ?? ""}.`}
        </p>
      )}
      <Facts
        of={{
          Receiver: webhook.origin,
          Format: webhook.format,
          "Hears of": webhook.events.length === 0 ? "all events" : webhook.events.join(", "),
          Target: webhook.target ?? "all",
          Created: <Time at={webhook.created_at} />,
          "Last delivered": <Time at={webhook.last_delivered_at} none="never" />,
          "Failing since": webhook.failing_since && <Time at={webhook.failing_since} />,
          "Last error": webhook.last_error,
          Dropped: webhook.dropped === 0 ? undefined : <span className="num">{webhook.dropped}</span>,
        }}
      />
      <div className="actions">
        <Act to={`${here}/test`} className="">
          Send a test
        </Act>
        {webhook.state === "disabled" && (
          <Ask at={here} verb="Enable" thing={title}>
            Enable {title}? It gets messages again.
          </Ask>
        )}
        {webhook.dead > 0 && webhook.state === "enabled" && (
          <Act to={`${here}/redeliver`}>Send all dead ones again</Act>
        )}
        <Opened title="New secret" to={`${here}/rotate`}>
          <Select label="The old one signs, too, for" name="hours" value="24" of={GRACES} />
          <button>Make a new secret</button>
        </Opened>
        <Remove at={here} verb="Remove" thing={title}>
          Remove {title} with its messages?
        </Remove>
      </div>
      <h2>Messages</h2>
      <Table
        label="Messages"
        empty={<Empty title="Nothing waits, and nothing is dead." />}
        columns={["Event", "State", ["Attempts", "num"], ["Last error", "why"], "Next attempt", "Made", ["", "acts"]]}
        rows={deliveries.map((each) => [
          each.id,
          <>
            {each.type}
            <p className="slug">{each.id}</p>
          </>,
          <Badge tone={each.state === "dead" ? "bad" : "busy"}>{each.state === "dead" ? "dead" : "waiting"}</Badge>,
          each.attempts,
          each.last_error,
          <Time at={each.next_attempt_at} none="" />,
          <Time at={each.created_at} />,
          each.state === "dead" && webhook.state === "enabled" && (
            <Act to={`${here}/redeliver`} sends={{ delivery: each.id }} title={`Send ${each.id} again`}>
              Send again
            </Act>
          ),
        ])}
      />
      <Pager to={here} at={cursor} next={next} />
    </Layout>
  );
}
