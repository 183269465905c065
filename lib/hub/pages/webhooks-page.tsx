import type { DeliveryRecord, WebhookRecord, WebhookSecret, WebhookTest } from "../../contract/surfaces/webhooks.ts";
import { WEBHOOK_EVENTS, WEBHOOK_FORMATS } from "../../contract/webhook-terms.ts";
import { Layout } from "./layout.tsx";
import { Badge, Command, Empty, Facts, Form, Go, Pager, Table, Time } from "./parts.tsx";
import { pagePaths } from "./view.ts";

const titleOf = ({ name, id }: WebhookRecord): string => (name === "" ? id : name);

function State({ webhook: { state, failing_since: failing } }: { webhook: WebhookRecord }) {
  if (state === "disabled") return <Badge tone="bad">disabled</Badge>;
  return failing === null ? <Badge tone="good">works</Badge> : <Badge tone="warn">fails</Badge>;
}

/** The own webhooks, and a form for a new one. */
export const WebhooksPage = ({ items }: { items: WebhookRecord[] }) => (
  <Layout title="Webhooks">
    <h1>Webhooks</h1>
    <details className="panel">
      <summary>Add a webhook</summary>
      <Form to={pagePaths.webhooks()} className="stack">
        <label>
          URL
          <input name="url" type="url" required maxLength={2048} placeholder="https://ops.example.org/sealift" />
        </label>
        <label>
          Name
          <input name="name" maxLength={128} placeholder="ops" />
        </label>
        <label>
          Only for
          <input name="target" maxLength={300} placeholder="plugin:SLUG, service:SLUG or project:ID" />
        </label>
        <fieldset>
          <legend>It hears of (all, unless chosen)</legend>
          {WEBHOOK_EVENTS.map((event) => (
            <label key={event} className="check">
              <input type="checkbox" name="event" value={event} />
              <span>{event}</span>
            </label>
          ))}
        </fieldset>
        <label>
          Format
          <select name="format">
            {WEBHOOK_FORMATS.map((format) => (
              <option key={format}>{format}</option>
            ))}
          </select>
        </label>
        <button>Add the webhook</button>
      </Form>
    </details>
    {items.length === 0 ? (
      <Empty title="No webhooks yet." command="sealift webhook add --name ops --webhook-url-file receiver.url">
        The hub tells them of versions, rollouts and failing hosts. Add one here, or with:
      </Empty>
    ) : (
      <Table
        label="Webhooks"
        columns={["Name", "State", "Hears of", "Target", ["Waiting", "num"], ["Dead", "num"], "Last delivered"]}
        rows={items.map((webhook) => ({
          key: webhook.id,
          cells: [
            <>
              <Go to={pagePaths.webhook(webhook.id)}>{titleOf(webhook)}</Go>
              <p className="slug">{webhook.origin}</p>
            </>,
            <State webhook={webhook} />,
            webhook.events.length === 0 ? "all events" : webhook.events.join(", "),
            webhook.target ?? "all",
            webhook.pending,
            webhook.dead,
            <Time at={webhook.last_delivered_at} none="never" />,
          ],
        }))}
      />
    )}
  </Layout>
);

/** The secret of a webhook, new or rotated: the only time that it is shown. */
export const WebhookSecretPage = ({ webhook }: { webhook: WebhookSecret }) => (
  <Layout title={`Secret of ${titleOf(webhook)}`}>
    <div className="narrow">
      <h1>{titleOf(webhook)}</h1>
      <p className="notice">Copy the secret now. The hub does not show it again.</p>
      <h2>Secret</h2>
      <Command text={webhook.secret} />
      <p>
        <Go to={pagePaths.webhook(webhook.id)}>Go to the webhook</Go>
      </p>
    </div>
  </Layout>
);

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
  const here = pagePaths.webhook(webhook.id);
  const title = titleOf(webhook);
  return (
    <Layout title={title}>
      <div className="title-row">
        <h1>{title}</h1>
        <State webhook={webhook} />
      </div>
      {tested !== undefined && (
        <p className={tested.delivered ? "notice" : "fault"} role="status">
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
        <Form to={`${here}/test`} className="inline">
          <button>Send a test</button>
        </Form>
        {webhook.state === "disabled" && (
          <Form to={`${here}/enable`} className="inline">
            <button className="plain">Enable</button>
          </Form>
        )}
        {webhook.dead > 0 && webhook.state === "enabled" && (
          <Form to={`${here}/redeliver`} className="inline">
            <button className="plain">Send all dead ones again</button>
          </Form>
        )}
        <details className="act">
          <summary>New secret</summary>
          <Form to={`${here}/rotate`}>
            <label>
              The old one signs, too, for
              <select name="hours" defaultValue="24">
                <option value="24">a day</option>
                <option value="168">a week</option>
                <option value="0">no time: it has leaked</option>
              </select>
            </label>
            <button>Make a new secret</button>
          </Form>
        </details>
        <Form to={`${here}/remove`} className="inline" confirm={`Remove ${title} with its messages?`}>
          <button className="plain bad-text">Remove</button>
        </Form>
      </div>
      <h2>Messages</h2>
      {deliveries.length === 0 ? (
        <Empty title="Nothing waits, and nothing is dead." />
      ) : (
        <Table
          label="Messages"
          columns={["Event", "State", ["Attempts", "num"], ["Last error", "why"], "Next attempt", "Made", ["", "acts"]]}
          rows={deliveries.map((each) => ({
            key: each.id,
            cells: [
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
                <Form to={`${here}/redeliver`} className="inline">
                  <input type="hidden" name="delivery" value={each.id} />
                  <button className="plain" aria-label={`Send ${each.id} again`}>
                    Send again
                  </button>
                </Form>
              ),
            ],
          }))}
        />
      )}
      <Pager to={here} at={cursor} next={next} />
    </Layout>
  );
}
