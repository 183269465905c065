import { type Locked, locked } from "../../records/locked.ts";
import { type PageRange, type Queries, takeTurn, type Transacted, type TransactedIn } from "../../records/port.ts";
import { deleteWhere, newestWhere, selectWhere, updateWhere } from "../../records/rows.ts";
import { own, type WebhookDeliveriesTable, type WebhooksTable } from "./tables.ts";

// Transactions that change a webhook and its messages lock the webhook's row first, to avoid deadlocks.

/** Most webhooks of one owner. */
export const MAX_WEBHOOKS = 20;
/** Most dead messages kept per webhook, the newest. */
const MAX_DEAD = 1000;

/** Returns the name under which a webhook's URL and secrets are sealed. */
export const webhookSecretName = (id: string) => `webhook/${id}`;

/** Webhook, with its numbers of waiting and dead messages. */
export type CountedWebhook = WebhooksTable & { pending: number; dead: number };

async function counted(db: Queries, rows: readonly WebhooksTable[]): Promise<CountedWebhook[]> {
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return [];
  const counts = await own(db)
    .selectFrom("webhook_deliveries")
    .select(["webhook_id", "state", (eb) => eb.fn.countAll<number>().as("count")])
    .where("webhook_id", "in", ids)
    .groupBy(["webhook_id", "state"])
    .execute();
  const of = (id: string, state: string): number =>
    Number(counts.find((row) => row.webhook_id === id && row.state === state)?.count ?? 0);
  return rows.map((row) => ({ ...row, pending: of(row.id, "pending"), dead: of(row.id, "dead") }));
}

export async function listWebhooks(db: Queries, owner: string, { after, limit }: PageRange): Promise<CountedWebhook[]> {
  const rows = await selectWhere(own(db), "webhooks", { owner })
    .selectAll()
    .where("id", ">", after)
    .orderBy("id")
    .limit(limit)
    .execute();
  return counted(db, rows);
}

export async function findWebhook(db: Queries, id: string): Promise<CountedWebhook | undefined> {
  const row = await selectWhere(own(db), "webhooks", { id }).selectAll().executeTakeFirst();
  return row && (await counted(db, [row]))[0];
}

/** Stores a webhook for the owner of a row. @returns undefined when the owner has as many as there may be */
export async function insertWebhook<In>(
  transaction: TransactedIn<In>,
  { owner }: Locked<{ owner: string }, In>,
  facts: Omit<WebhooksTable, "owner">,
): Promise<WebhooksTable | undefined> {
  await takeTurn(transaction, `owner/${owner}`);
  const { count } = await selectWhere(own(transaction), "webhooks", { owner })
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_WEBHOOKS) return undefined;
  const webhook = { ...facts, owner };
  await own(transaction).insertInto("webhooks").values(webhook).execute();
  return webhook;
}

/** Removes a webhook with its messages and secrets. @returns false when another request has done so */
export async function removeWebhook(transaction: Transacted, id: string): Promise<boolean> {
  const { numDeletedRows } = await deleteWhere(own(transaction), "webhooks", { id }).executeTakeFirst();
  await deleteWhere(own(transaction), "webhook_deliveries", { webhook_id: id }).execute();
  await deleteWhere(transaction, "sealed_secrets", { name: webhookSecretName(id) }).execute();
  return numDeletedRows > 0n;
}

/** Locks the row of a webhook until the transaction ends. @returns undefined when another request has removed it */
export async function lockWebhook<In>(
  transaction: TransactedIn<In>,
  id: string,
): Promise<Locked<WebhooksTable, In> | undefined> {
  const webhook = await updateWhere(own(transaction), "webhooks", { id })
    .set((eb) => ({ name: eb.ref("name") }))
    .returningAll()
    .executeTakeFirst();
  return webhook && locked(transaction, webhook);
}

/** Enables a webhook. @returns false when another request has removed it */
export async function enableWebhook(transaction: Transacted, id: string): Promise<boolean> {
  const { numUpdatedRows } = await updateWhere(own(transaction), "webhooks", { id })
    .set({ disabled_at: null, failing_since: null, last_error: null })
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Disables a webhook; its waiting messages become dead. @returns false when it was already disabled */
export async function disableWebhook(transaction: Transacted, id: string, now: string): Promise<boolean> {
  const { numUpdatedRows } = await updateWhere(own(transaction), "webhooks", { id, disabled_at: null })
    .set({ disabled_at: now })
    .executeTakeFirst();
  await updateWhere(own(transaction), "webhook_deliveries", { webhook_id: id, state: "pending" })
    .set({ state: "dead", last_error: "the webhook was disabled" })
    .execute();
  return numUpdatedRows > 0n;
}

export const listDeliveries = (
  db: Queries,
  webhook: string,
  state: WebhookDeliveriesTable["state"] | undefined,
  range: PageRange,
): Promise<WebhookDeliveriesTable[]> =>
  newestWhere(own(db), "webhook_deliveries", { webhook_id: webhook, ...(state && { state }) }, range)
    .selectAll()
    .execute();

/** Queues dead messages again, under their ids. @param id of one message; undefined for all @returns how many */
export async function redeliver<In>(
  transaction: TransactedIn<In>,
  { id: webhook_id }: Locked<WebhooksTable, In>,
  id: string | undefined,
  now: string,
): Promise<number> {
  const { numUpdatedRows } = await updateWhere(own(transaction), "webhook_deliveries", { webhook_id, state: "dead" })
    .set({ state: "pending", attempts: 0, next_at: now })
    .$if(id !== undefined, (query) => query.where("id", "=", id!))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Message that is due. */
export type DueDelivery = WebhookDeliveriesTable & { owner: string };

/** Message claimed by this hub alone. @param due_at when it was due */
export type Claimed = DueDelivery & { due_at: string };

/** Webhooks and owners that have no turn now. */
export interface Busy {
  webhooks: readonly string[];
  owners: readonly string[];
}

/** Lists messages that are due, the longest waiting first. */
export const dueDeliveries = (
  db: Queries,
  now: string,
  { webhooks, owners }: Busy,
  limit: number,
): Promise<DueDelivery[]> =>
  own(db)
    .selectFrom("webhook_deliveries as d")
    .innerJoin("webhooks as w", "w.id", "d.webhook_id")
    .selectAll("d")
    .select("w.owner")
    .where("d.state", "=", "pending")
    .where("d.next_at", "<=", now)
    .$if(webhooks.length > 0, (query) => query.where("d.webhook_id", "not in", webhooks))
    .$if(owners.length > 0, (query) => query.where("w.owner", "not in", owners))
    .orderBy("d.next_at")
    .limit(limit)
    .execute();

/** Claims a message for a while, unless another hub was faster. @returns the message with the attempt counted */
export async function claimDelivery(db: Queries, due: DueDelivery, until: string): Promise<Claimed | undefined> {
  const attempts = Number(due.attempts) + 1;
  const { id, next_at } = due;
  const { numUpdatedRows } = await updateWhere(own(db), "webhook_deliveries", { id, state: "pending", next_at })
    .set({ next_at: until, attempts })
    .executeTakeFirst();
  return numUpdatedRows > 0n ? { ...due, due_at: next_at, attempts, next_at: until } : undefined;
}

/** Returns a claimed message unsent to the queue, since the hub is closing. */
export async function releaseDelivery(db: Queries, { id, attempts }: Claimed, now: string): Promise<void> {
  const set = { next_at: now, attempts: Number(attempts) - 1 };
  await updateWhere(own(db), "webhook_deliveries", { id }).set(set).execute();
}

/** Removes a message that has arrived. */
export async function settleDelivery(transaction: Transacted, { id, webhook_id }: Claimed, now: string): Promise<void> {
  await updateWhere(own(transaction), "webhooks", { id: webhook_id })
    .set({ last_delivered_at: now, failing_since: null, last_error: null })
    .execute();
  await deleteWhere(own(transaction), "webhook_deliveries", { id }).execute();
}

/**
 * Records a failed attempt.
 *
 * @param next when the next attempt is due; undefined for a message that is dead
 * @returns since when nothing has arrived; undefined when the webhook is gone
 */
export async function failDelivery(
  transaction: Transacted,
  { id, webhook_id }: Claimed,
  { error, now, next }: { error: string; now: string; next: string | undefined },
): Promise<string | undefined> {
  const row = await updateWhere(own(transaction), "webhooks", { id: webhook_id })
    .set((eb) => ({ last_error: error, failing_since: eb.fn.coalesce("failing_since", eb.val(now)) }))
    .returning("failing_since")
    .executeTakeFirst();
  await updateWhere(own(transaction), "webhook_deliveries", { id })
    .set({ last_error: error, ...(next === undefined ? { state: "dead" as const } : { next_at: next }) })
    .execute();
  if (next === undefined) await forgetDead(transaction, webhook_id);
  return row?.failing_since ?? undefined;
}

async function forgetDead(transaction: Transacted, webhook: string): Promise<void> {
  const oldest = await selectWhere(own(transaction), "webhook_deliveries", { webhook_id: webhook, state: "dead" })
    .select("id")
    .orderBy("id", "desc")
    .offset(MAX_DEAD)
    .limit(1)
    .executeTakeFirst();
  if (oldest === undefined) return;
  await deleteWhere(own(transaction), "webhook_deliveries", { webhook_id: webhook, state: "dead" })
    .where("id", "<=", oldest.id)
    .execute();
}

/** Removes messages older than a time, in any state. @returns how many */
export async function removeDeliveries(db: Queries, before: string): Promise<number> {
  const { numDeletedRows } = await own(db)
    .deleteFrom("webhook_deliveries")
    .where("created_at", "<", before)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
