import type { WebhookRecord, WebhookTest } from "../../contract/surfaces/webhooks.ts";
import * as routes from "../../contract/webhooks/routes.ts";
import { notFound } from "../ground/errors.ts";
import { callTo } from "./api.ts";
import { type Desk, field, param, type Screen } from "./desk.ts";
import { pagePaths } from "./view.ts";
import { WebhookPage, WebhookSecretPage, WebhooksPage } from "./webhooks-page.tsx";

type Request = Parameters<Screen>[1];

/** The own ones: there are few. */
const listed = async ({ api }: Desk, request: Request): Promise<WebhookRecord[]> =>
  (await api.call(request, callTo(routes.listWebhooks, { query: { limit: "200" } }))).items;

export const webhooks: Screen = async (desk, request) => <WebhooksPage items={await listed(desk, request)} />;

export const addWebhook: Screen = async ({ api }, request) => {
  const events = (request.body as URLSearchParams).getAll("event");
  const body = {
    ...{ url: field(request, "url") ?? "", name: field(request, "name"), target: field(request, "target") },
    ...{ format: field(request, "format"), ...(events.length > 0 && { events }) },
  };
  const webhook = await api.call(request, callTo(routes.addWebhook, { body }));
  return <WebhookSecretPage webhook={webhook} />;
};

async function shown(desk: Desk, request: Request, tested?: WebhookTest) {
  const id = param(request, "webhook");
  const found = (await listed(desk, request)).find((each) => each.id === id);
  if (found === undefined) throw notFound("There is no such webhook.");
  const deliveries = callTo(routes.listDeliveries, { params: { webhook: id }, query: { limit: "50" } });
  const { items, next, cursor } = await desk.api.page(request, deliveries);
  return <WebhookPage {...{ webhook: found, deliveries: items, cursor, next, tested }} />;
}

export const webhook: Screen = (desk, request) => shown(desk, request);

/** Parameters of the routes of one webhook. */
const paramsOf = (request: Request) => ({ webhook: param(request, "webhook") });

export const testWebhook: Screen = async (desk, request) =>
  shown(desk, request, await desk.api.call(request, callTo(routes.testWebhook, { params: paramsOf(request) })));

export const redeliver: Screen = async (desk, request) => {
  const delivery = field(request, "delivery");
  const body = delivery === undefined ? undefined : { delivery };
  await desk.api.call(request, callTo(routes.redeliver, { params: paramsOf(request), body }));
  return { goTo: pagePaths.webhook(param(request, "webhook")) };
};

export const rotateWebhook: Screen = async (desk, request) => {
  const hours = field(request, "hours");
  const body = hours === undefined ? {} : { grace_seconds: Number(hours) * 3600 };
  const webhook = await desk.api.call(request, callTo(routes.rotateWebhook, { params: paramsOf(request), body }));
  return <WebhookSecretPage webhook={webhook} />;
};

export const enableWebhook: Screen = async (desk, request) => {
  await desk.api.call(request, callTo(routes.enableWebhook, { params: paramsOf(request) }));
  return { goTo: pagePaths.webhook(param(request, "webhook")) };
};

export const removeWebhook: Screen = async ({ api }, request) => {
  await api.call(request, callTo(routes.removeWebhook, { params: paramsOf(request) }));
  return { goTo: pagePaths.webhooks() };
};
