import type { FastifyRequest } from "fastify";
import type * as z from "zod";
import { type MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import type { WebhookRecord, webhookRequest } from "../../../contract/surfaces/webhooks.ts";
import { parseTarget } from "../../../contract/target.ts";
import type { WebhookMessage } from "../../../contract/webhook-events.ts";
import * as routes from "../../../contract/webhooks/routes.ts";
import { audited } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { controlledBy } from "../../access/project-access.ts";
import { serve, type Served } from "../../access/serve.ts";
import { noSuchTarget, targetAccess, type TargetAccessParts } from "../../access/target-access.ts";
import { BadDestination } from "../../base/destinations.ts";
import { conflict, notFound, unprocessable } from "../../base/errors.ts";
import { recordId } from "../../base/identity.ts";
import { isAdministrator, type Principal } from "../../base/principal.ts";
import { pageOf } from "../../http/documentation.ts";
import { storeSecret } from "../../keys/hub-secret.ts";
import type { Keyring } from "../../keys/keyring.ts";
import type { PageRange } from "../../records/port.ts";
import { subjectOfTarget, targetOfSubject } from "../../records/subjects.ts";
import { findVisibleTarget } from "../../records/visible-targets.ts";
import { newSecret, openSealed, sealedText } from "./messages.ts";
import {
  type CountedWebhook,
  enableWebhook,
  findWebhook,
  insertWebhook,
  listDeliveries,
  listWebhooks,
  lockWebhook,
  MAX_WEBHOOKS,
  redeliver,
  removeWebhook,
  webhookSecretName,
} from "./records.ts";
import type { Webhooks } from "./sender.ts";
import type { WebhookDeliveriesTable, WebhooksTable } from "./tables.ts";

/** Seconds for which the old secret still signs, unless the request says otherwise. */
const GRACE_SECONDS = 86_400;

function recordOf({ events, target, disabled_at: disabledAt, owner: _owner, ...row }: CountedWebhook): WebhookRecord {
  return {
    ...row,
    events: events === "" ? [] : events.split(" "),
    target: target === null ? null : targetOfSubject(target),
    state: disabledAt === null ? "enabled" : "disabled",
    dropped: Number(row.dropped),
  };
}

const deliveryOf = ({ id, event, state, attempts, next_at, last_error, created_at }: WebhookDeliveriesTable) => ({
  ...{ id, type: event, state, attempts: Number(attempts), last_error, created_at },
  next_attempt_at: state === "pending" ? next_at : null,
});

const noSuchWebhook = () => notFound("There is no such webhook.");

/** Routes of webhooks, for their owner (docs/webhooks.md). */
export function webhooks(
  options: MountOptions<TargetAccessParts & { keyring: Keyring }>,
  sender: Webhooks,
): readonly Served[] {
  const { hub } = options;
  const db = hub.database.kysely;
  const projectOf = controlledBy(hub);
  const accesses = { plugin: targetAccess("plugin", options), service: targetAccess("service", options) };

  async function owned(principal: Principal, id: string): Promise<CountedWebhook> {
    const webhook = await findWebhook(db, id);
    if (webhook === undefined || (webhook.owner !== principal.owner && !isAdministrator(principal)))
      throw noSuchWebhook();
    return webhook;
  }

  const found = async (id: string): Promise<WebhookRecord> => {
    const webhook = await findWebhook(db, id);
    if (webhook === undefined) throw noSuchWebhook();
    return recordOf(webhook);
  };

  /**
   * Checks the target and address of a webhook. @throws HubError 404 for a target that the caller may not see, 422 for
   * an address that is refused
   */
  async function requireUsable(
    request: FastifyRequest,
    principal: Principal,
    { url, target }: z.output<typeof webhookRequest>,
  ): Promise<URL> {
    if (target !== undefined) {
      const { kind, slug } = parseTarget(target);
      if (kind === "project") await projectOf(principal, slug);
      else await requireVisible(request, kind, slug);
    }
    const { destinations } = sender;
    try {
      const parsed = destinations.parse(url);
      await destinations.checkNow(parsed);
      return parsed;
    } catch (error) {
      throw error instanceof BadDestination ? unprocessable(`url: The address ${error.message}.`) : error;
    }
  }

  async function requireVisible(request: FastifyRequest, kind: MarketplaceKind, slug: string): Promise<void> {
    const { target } = await findVisibleTarget(hub.database.statements, accesses[kind].question(request, slug));
    if (target === undefined) throw noSuchTarget(kind);
  }

  return [
    serve(routes.addWebhook, async (request, principal) => {
      const { name = "", events = [], target, format = "json" } = request.body;
      const { href, origin } = await requireUsable(request, principal, request.body);
      const now = hub.now();
      const id = recordId("whk", hub.clock());
      const secret = newSecret();
      const facts: Omit<WebhooksTable, "owner"> = {
        ...{ id, name, origin, format, events: [...new Set(events)].join(" ") },
        ...{ target: target === undefined ? null : subjectOfTarget(target), created_at: now, last_delivered_at: null },
        ...{ failing_since: null, last_error: null, disabled_at: null, dropped: 0 },
      };
      const authority = { principal, projectIds: [] } as const;
      const row = await audited(hub, request, authority, async (transaction, tell, { caller }) => {
        const added = await insertWebhook(transaction, caller, facts);
        if (added === undefined) throw conflict(`An owner has at most ${MAX_WEBHOOKS} webhooks.`);
        const sealed = { name: webhookSecretName(id), secret: sealedText({ url: href, secret }), now, replace: false };
        await storeSecret(transaction, hub.keyring, sealed);
        await tell({ action: "webhook.add", subject: id, facts: { origin, format } });
        return added;
      });
      return { ...recordOf({ ...row, pending: 0, dead: 0 }), secret };
    }),

    serve(routes.listWebhooks, async (request, { owner }) =>
      pageOf(request.query, { by: "id", show: recordOf }, (range) => listWebhooks(db, owner, range)),
    ),

    serve(routes.listDeliveries, async (request, principal) => {
      const webhook = await owned(principal, request.params.webhook);
      const read = (range: PageRange) => listDeliveries(db, webhook.id, request.query.state, range);
      return pageOf(request.query, { by: "id", show: deliveryOf }, read);
    }),

    serve(routes.testWebhook, async (request, principal) => {
      const webhook = await owned(principal, request.params.webhook);
      const data = { target: "", name: webhook.name === "" ? webhook.id : webhook.name, version: null };
      const message: WebhookMessage = { type: "webhook.test", timestamp: hub.now(), data };
      const outcome = await sender.test(webhook, recordId("msg", hub.clock()), JSON.stringify(message));
      if (outcome === undefined) throw conflict("Messages are on their way to the webhook; try again.");
      return outcome.kind === "delivered"
        ? { delivered: true, error: null }
        : { delivered: false, error: outcome.error };
    }),

    serve(routes.redeliver, async (request, principal) => {
      const webhook = await owned(principal, request.params.webhook);
      const delivery = request.body?.delivery;
      const redelivered = await audited(hub, request, { principal, projectIds: [] }, async (transaction) => {
        const locked = await lockWebhook(transaction, webhook.id);
        if (locked === undefined) throw noSuchWebhook();
        if (locked.disabled_at !== null) throw conflict("The webhook is disabled; enable it first.");
        return redeliver(transaction, locked, delivery, hub.now());
      });
      if (delivery !== undefined && redelivered === 0) throw notFound("The webhook has no such dead message.");
      void sender.send();
      return { redelivered };
    }),

    serve(routes.rotateWebhook, async (request, principal) => {
      const webhook = await owned(principal, request.params.webhook);
      const { id } = webhook;
      const secret = newSecret();
      const until = hub.clock() + (request.body?.grace_seconds ?? GRACE_SECONDS) * 1000;
      await audited(hub, request, { principal, projectIds: [] }, async (transaction, tell) => {
        if ((await lockWebhook(transaction, id)) === undefined) throw noSuchWebhook();
        const old = await openSealed(transaction, hub.keyring, id);
        if (old === undefined) throw noSuchWebhook();
        const sealed = sealedText({ url: old.url, secret, previous: { secret: old.secret, until } });
        const stored = { name: webhookSecretName(id), secret: sealed, now: hub.now(), replace: true };
        await storeSecret(transaction, hub.keyring, stored);
        await tell({ action: "webhook.rotate", subject: id });
      });
      return { ...recordOf(webhook), secret };
    }),

    serve(routes.enableWebhook, async (request, principal) => {
      const webhook = await owned(principal, request.params.webhook);
      await audited(hub, request, { principal, projectIds: [] }, async (transaction, tell) => {
        if (!(await enableWebhook(transaction, webhook.id))) throw noSuchWebhook();
        await tell({ action: "webhook.enable", subject: webhook.id });
      });
      return found(webhook.id);
    }),

    serve(routes.removeWebhook, async (request, principal) => {
      const webhook = await owned(principal, request.params.webhook);
      await audited(hub, request, { principal, projectIds: [] }, async (transaction, tell) => {
        if (!(await removeWebhook(transaction, webhook.id))) throw noSuchWebhook();
        await tell({ action: "webhook.remove", subject: webhook.id, facts: { origin: webhook.origin } });
      });
    }),
  ];
}
