import type { WebhookRecord, WebhookTest } from "../../../contract/surfaces/webhooks.ts";
import * as routes from "../../../contract/webhooks/routes.ts";
import { notFound } from "../../../hub/ground/errors.ts";
import { callTo } from "../../page/api.ts";
import { field, type PageContext, param, type Screen } from "../../page/context.ts";
import { WebhookPage, WebhookSecretPage, WebhooksPage } from "./page.tsx";
import { webhookPath, webhooksPath } from "./paths.ts";

type Request = Parameters<Screen>[1];

/** The own ones: there are few. */
const listed = async ({ api }: PageContext, request: Request): Promise<WebhookRecord[]> =>
  (await api.call(request, callTo(routes.listWebhooks, { query: { limit: "200" } }))).items;

export const webhooks: Screen = async (context, request) => <WebhooksPage items={await listed(context, request)} />;

export const addWebhook: Screen = async ({ api }, request) => {
  const events = (request.body as URLSearchParams).getAll("event");
  const body = {
    ...{ url: field(request, "url") ?? "", name: field(request, "name"), target: field(request, "target") },
    ...{ format: field(request, "format"), ...(events.length > 0 && { events }) },
  };
  const webhook = await api.call(request, callTo(routes.addWebhook, { body }));
  return <WebhookSecretPage webhook={webhook} />;
};

async function shown(context: PageContext, request: Request, tested?: WebhookTest) {
  const id = param(request, "webhook");
  const found = (await listed(context, request)).find((each) => each.id === id);
  if (found === undefined) throw notFound("There is no such webhook.");
  const deliveries = callTo(routes.listDeliveries, { params: { webhook: id }, query: { limit: "50" } });
  const { items, next, cursor } = await context.api.page(request, deliveries);
  return <WebhookPage {...{ webhook: found, deliveries: items, cursor, next, tested }} />;
}

export const webhook: Screen = (context, request) => shown(context, request);

/** Parameters of the routes of one webhook. */
const paramsOf = (request: Request) => ({ webhook: param(request, "webhook") });

export const testWebhook: Screen = async (context, request) =>
  shown(context, request, await context.api.call(request, callTo(routes.testWebhook, { params: paramsOf(request) })));

export const redeliver: Screen = async (context, request) => {
  const delivery = field(request, "delivery");
  const body = delivery === undefined ? undefined : { delivery };
  await context.api.call(request, callTo(routes.redeliver, { params: paramsOf(request), body }));
  return { goTo: webhookPath(param(request, "webhook")) };
};

export const rotateWebhook: Screen = async (context, request) => {
  const hours = field(request, "hours");
  const body = hours === undefined ? {} : { grace_seconds: Number(hours) * 3600 };
  const webhook = await context.api.call(request, callTo(routes.rotateWebhook, { params: paramsOf(request), body }));
  return <WebhookSecretPage webhook={webhook} />;
};

export const enableWebhook: Screen = async (context, request) => {
  await context.api.call(request, callTo(routes.enableWebhook, { params: paramsOf(request) }));
  return { goTo: webhookPath(param(request, "webhook")) };
};

export const removeWebhook: Screen = async ({ api }, request) => {
  await api.call(request, callTo(routes.removeWebhook, { params: paramsOf(request) }));
  return { goTo: webhooksPath };
};
