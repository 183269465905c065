import { paths } from "../../contract/surfaces/paths.ts";
import type { DeliveryRecord, WebhookRecord, WebhookSecret, WebhookTest } from "../../contract/surfaces/webhooks.ts";
import { notFound } from "../ground/errors.ts";
import type { Listed } from "./api.ts";
import { type Desk, field, param, type Screen } from "./desk.ts";
import { pagePaths } from "./view.ts";
import { WebhookPage, WebhookSecretPage, WebhooksPage } from "./webhooks-page.tsx";

type Request = Parameters<Screen>[1];

/** The own ones: there are few. */
const listed = async ({ api }: Desk, request: Request): Promise<WebhookRecord[]> =>
  (await api.call<Listed<WebhookRecord>>(request, { path: paths.webhooks(), query: { limit: "200" } })).items;

export const webhooks: Screen = async (desk, request) => <WebhooksPage items={await listed(desk, request)} />;

export const addWebhook: Screen = async ({ api }, request) => {
  const events = (request.body as URLSearchParams).getAll("event");
  const json = {
    ...{ url: field(request, "url") ?? "", name: field(request, "name"), target: field(request, "target") },
    ...{ format: field(request, "format"), ...(events.length > 0 && { events }) },
  };
  const webhook = await api.call<WebhookSecret>(request, { method: "POST", path: paths.webhooks(), json });
  return <WebhookSecretPage webhook={webhook} />;
};

async function shown(desk: Desk, request: Request, tested?: WebhookTest) {
  const id = param(request, "webhook");
  const found = (await listed(desk, request)).find((each) => each.id === id);
  if (found === undefined) throw notFound("There is no such webhook.");
  const path = `${paths.webhook(id)}/deliveries`;
  const { items, next, cursor } = await desk.api.page<DeliveryRecord>(request, path, { limit: "50" });
  return <WebhookPage {...{ webhook: found, deliveries: items, cursor, next, tested }} />;
}

export const webhook: Screen = (desk, request) => shown(desk, request);

/** Calls a route of an own webhook. */
async function act<T>({ api }: Desk, request: Request, action: string, json?: object): Promise<T> {
  const path = `${paths.webhook(param(request, "webhook"))}/${action}`;
  return api.call<T>(request, { method: "POST", path, ...(json !== undefined && { json }) });
}

export const testWebhook: Screen = async (desk, request) =>
  shown(desk, request, await act<WebhookTest>(desk, request, "test"));

export const redeliver: Screen = async (desk, request) => {
  const delivery = field(request, "delivery");
  await act(desk, request, "redeliver", delivery === undefined ? undefined : { delivery });
  return { goTo: pagePaths.webhook(param(request, "webhook")) };
};

export const rotateWebhook: Screen = async (desk, request) => {
  const hours = field(request, "hours");
  const json = hours === undefined ? {} : { grace_seconds: Number(hours) * 3600 };
  return <WebhookSecretPage webhook={await act<WebhookSecret>(desk, request, "rotate", json)} />;
};

export const enableWebhook: Screen = async (desk, request) => {
  await act(desk, request, "enable");
  return { goTo: pagePaths.webhook(param(request, "webhook")) };
};

export const removeWebhook: Screen = async ({ api }, request) => {
  await api.call(request, { method: "DELETE", path: paths.webhook(param(request, "webhook")) });
  return { goTo: pagePaths.webhooks() };
};
