import type { FastifyRequest } from "fastify";
import type { DeliveryRecord, WebhookRecord, WebhookSecret, WebhookTest } from "../../../contract/surfaces/webhooks.ts";
import { WEBHOOK_EVENTS, WEBHOOK_FORMATS } from "../../../contract/webhook-events.ts";
import * as routes from "../../../contract/webhooks/routes.ts";
import { DELIVERY_FACTS, eventsText, WEBHOOK_FACTS, webhookName } from "../../../contract/webhooks/shown.ts";
import { notFound } from "../../../hub/base/errors.ts";
import { act } from "../../page/act.ts";
import { callTo } from "../../page/api.ts";
import { field, type PageContext, param, type Screen } from "../../page/context.ts";
import { factRows } from "../../page/fact-rows.tsx";
import { ActionButton, Ask, Check, Field, Opened, Remove, Select } from "../../page/forms.tsx";
import { Layout } from "../../page/layout.tsx";
import { ListPage } from "../../page/list-page.tsx";
import { Badge, Empty, FactList, Go, Pager, Table, Time, withNotes } from "../../page/parts.tsx";
import { SecretsPage } from "../../page/secrets-page.tsx";
import { webhookPath, webhooksPath } from "./paths.ts";

/** Lists the caller's webhooks, which are few. */
const listed = async ({ api }: PageContext, request: FastifyRequest): Promise<WebhookRecord[]> =>
  (await api.call(request, callTo(routes.listWebhooks, { query: { limit: "200" } }))).items;

/** Lists the caller's webhooks, with a form for a new one. */
export const webhooks: Screen = async (context, request) => (
  <ListPage
    title="Webhooks"
    above={<AddForm />}
    {...factRows(WEBHOOK_FACTS, await listed(context, request), {
      keyOf: ({ id }) => id,
      formed: {
        name: (webhook) => withNotes(<Go to={webhookPath(webhook.id)}>{webhookName(webhook)}</Go>, webhook.origin),
        state: (webhook) => <State webhook={webhook} />,
      },
    })}
    empty={
      <Empty title="No webhooks yet." command="sealift webhook add --name ops --webhook-url-file receiver.url">
        The hub tells them of versions, rollouts and failing hosts. Add one here, or with:
      </Empty>
    }
    to={webhooksPath}
  />
);

function State({ webhook: { state, failing_since: failing } }: { webhook: WebhookRecord }) {
  if (state === "disabled") return <Badge tone="bad">disabled</Badge>;
  return failing === null ? <Badge tone="good">works</Badge> : <Badge tone="warn">fails</Badge>;
}

const AddForm = () => (
  <Opened className="panel" title="Add a webhook" to={webhooksPath}>
    <Field
      label="URL"
      name="url"
      type="url"
      isSecret
      required
      maxLength={2048}
      placeholder="https://ops.example.org/sealift"
    />
    <Field label="Name" name="name" maxLength={128} placeholder="ops" />
    <Field label="Only for" name="target" maxLength={300} placeholder="plugin:SLUG, service:SLUG or project:ID" />
    <fieldset>
      <legend>It hears of (all, unless chosen)</legend>
      {WEBHOOK_EVENTS.map((event) => (
        <Check key={event} name="event" value={event}>
          {event}
        </Check>
      ))}
    </fieldset>
    <Select label="Format" name="format" of={WEBHOOK_FORMATS.map((format) => [format, format])} />
    <button>Add the webhook</button>
  </Opened>
);

export const addWebhook: Screen = async ({ api }, request) => {
  const events = (request.body as URLSearchParams).getAll("event");
  const body = {
    ...{ url: field(request, "url") ?? "", name: field(request, "name"), target: field(request, "target") },
    ...{ format: field(request, "format"), ...(events.length > 0 && { events }) },
  };
  return secretOf(await api.call(request, callTo(routes.addWebhook, { body })));
};

/** Shows the secret of a new or rotated webhook, this only time. */
const secretOf = (webhook: WebhookSecret) => (
  <SecretsPage
    title={`Secret of ${webhookName(webhook)}`}
    of={webhookName(webhook)}
    notice="Copy the secret now. The hub does not show it again."
    secrets={{ Secret: webhook.secret }}
  >
    <Go to={webhookPath(webhook.id)}>Go to the webhook</Go>
  </SecretsPage>
);

/** Choices of hours for which the old secret still signs. */
const GRACES = [
  ["24", "a day"],
  ["168", "a week"],
  ["0", "no time: it has leaked"],
] as const;

/** Shows a webhook with its waiting and undelivered messages. @param tested outcome of a test message just sent */
async function shown(context: PageContext, request: FastifyRequest, tested?: WebhookTest) {
  const id = param(request, "webhook");
  const webhook = (await listed(context, request)).find((each) => each.id === id);
  if (webhook === undefined) throw notFound("There is no such webhook.");
  const asked = callTo(routes.listDeliveries, { params: { webhook: id }, query: { limit: "50" } });
  const { items, next, cursor } = await context.api.page(request, asked);
  const here = webhookPath(id);
  const title = webhookName(webhook);
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
      <FactList
        of={{
          Receiver: webhook.origin,
          Format: webhook.format,
          "Hears of": eventsText(webhook),
          Target: webhook.target ?? "all",
          Created: <Time at={webhook.created_at} />,
          "Last delivered": <Time at={webhook.last_delivered_at} none="never" />,
          "Failing since": webhook.failing_since && <Time at={webhook.failing_since} />,
          "Last error": webhook.last_error,
          Dropped: webhook.dropped === 0 ? undefined : <span className="num">{webhook.dropped}</span>,
        }}
      />
      <div className="actions">
        <ActionButton to={`${here}/test`} className="">
          Send a test
        </ActionButton>
        {webhook.state === "disabled" && (
          <Ask at={here} verb="Enable" thing={title}>
            Enable {title}? It gets messages again.
          </Ask>
        )}
        {webhook.dead > 0 && webhook.state === "enabled" && (
          <ActionButton to={`${here}/redeliver`}>Send all dead ones again</ActionButton>
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
        {...deliveryRows(items, webhook)}
      />
      <Pager to={here} at={cursor} next={next} />
    </Layout>
  );
}

const deliveryRows = (deliveries: readonly DeliveryRecord[], { id, state }: WebhookRecord) =>
  factRows(DELIVERY_FACTS, deliveries, {
    keyOf: (delivery) => delivery.id,
    formed: {
      type: (delivery) => withNotes(delivery.type, delivery.id),
      state: (delivery) => (
        <Badge tone={delivery.state === "dead" ? "bad" : "busy"}>{DELIVERY_FACTS.state.text(delivery)}</Badge>
      ),
    },
    acts: (delivery) =>
      delivery.state === "dead" &&
      state === "enabled" && (
        <ActionButton
          to={`${webhookPath(id)}/redeliver`}
          sends={{ delivery: delivery.id }}
          title={`Send ${delivery.id} again`}
        >
          Send again
        </ActionButton>
      ),
  });

export const webhook: Screen = (context, request) => shown(context, request);

export const testWebhook: Screen = async (context, request) => {
  const params = { webhook: param(request, "webhook") };
  return shown(context, request, await context.api.call(request, callTo(routes.testWebhook, { params })));
};

export const rotateWebhook: Screen = async ({ api }, request) => {
  const hours = field(request, "hours");
  const params = { webhook: param(request, "webhook") };
  const body = hours === undefined ? {} : { grace_seconds: Number(hours) * 3600 };
  return secretOf(await api.call(request, callTo(routes.rotateWebhook, { params, body })));
};

const here = (request: FastifyRequest): string => webhookPath(param(request, "webhook"));

export const redeliver = act(routes.redeliver, {
  to: here,
  body: (request) => {
    const delivery = field(request, "delivery");
    return delivery === undefined ? undefined : { delivery };
  },
});
export const enableWebhook = act(routes.enableWebhook, { to: here });
export const removeWebhook = act(routes.removeWebhook, { to: () => webhooksPath });
