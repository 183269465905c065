import { type AnyFacts, factsOfAction, type Hearer } from "../../../contract/audit-actions.ts";
import type { ReadHost } from "../../../contract/facts/host.ts";
import { blamelessCause, type Health, tellsUnhealthy, UNHEALTHY } from "../../../contract/surfaces/host-record.ts";
import type { AuditRecord } from "../../../contract/surfaces/keys.ts";
import type { WebhookEvent, WebhookMessage } from "../../../contract/webhook-events.ts";
import { recordId } from "../../base/identity.ts";
import type { FleetKey } from "../../records/fleet.ts";
import type { Queries } from "../../records/port.ts";
import { given, selectWhere, updateWhere } from "../../records/rows.ts";
import { targetOfSubject } from "../../records/subjects.ts";
import { visibleName } from "../../records/visible-targets.ts";
import { own, type WebhooksTable } from "./tables.ts";

/** Most waiting messages of one webhook. When a whole fleet fails, the first failures are sent. */
const MAX_WAITING = 1000;
const MAX_TEXT = 500;

type EventData = Omit<WebhookMessage["data"], "target" | "name">;

interface Occurrence {
  type: WebhookEvent;
  data: EventData;
}

/** Audit entry as webhooks report it. */
type TellableEntry = Pick<AuditRecord, "action" | "subject" | "actor"> & { facts?: AnyFacts | undefined };

/** Part of a report that webhooks send on. */
interface ToldReport {
  holder: string;
  target: string;
  hostId: string;
  version: string;
  status: "success" | "failed" | "rolled_back";
  hostRecord: Pick<ReadHost, "error_message" | "code" | "running_version">;
  /** Health to which the host has turned by it. */
  turned: Health | undefined;
  createdAt: string;
}

type Subscriber = Pick<WebhooksTable, "id" | "events" | "target"> & { name: string };

/** Shortens a text to {@link MAX_TEXT} characters; a shortened one ends with an ellipsis. */
const cut = (text: string): string =>
  // Never cut a surrogate pair in half.
  text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : text;

/** Lists the webhooks of a target's owner, always in one order: the transaction may lock each of them. */
function subscribersOf(db: Queries, subject: string): Promise<Subscriber[]> {
  const [kind, slug] = subject.split("/");
  return own(db)
    .selectFrom("projects as p")
    .innerJoin("webhooks as w", "w.owner", "p.owner")
    .select(["w.id", "w.events", "w.target", "p.name"])
    .where("w.disabled_at", "is", null)
    .orderBy("w.id")
    .$if(slug === undefined, (query) => query.where("p.id", "=", subject))
    .$if(slug !== undefined, (query) =>
      query.where("p.kind", "=", kind as "plugin" | "service").where("p.slug", "=", slug ?? ""),
    )
    .execute();
}

/** Finds the webhooks that receive an owner's reports. A target that the owner may not see appears under its slug. */
async function subscribersOfOwner(db: Queries, owner: string, subject: string, slug: string): Promise<Subscriber[]> {
  const rows = await selectWhere(own(db), "webhooks", { owner, disabled_at: null })
    .select(["id", "events", "target"])
    .orderBy("id")
    .execute();
  if (rows.length === 0) return [];
  const kind = subject.startsWith("plugin/") ? "plugin" : "service";
  const name = (await visibleName(db, { kind, slug, owner })) ?? slug;
  return rows.map((row) => ({ ...row, name }));
}

/** Webhooks that hear of a host or its target. The holder is the owner of the key that reports, or acts. */
const HEARERS: Record<Hearer, (db: Queries, about: FleetKey) => Promise<Subscriber[]>> = {
  target: (db, { target }) => subscribersOf(db, target),
  host(db, { holder, target }) {
    const slug = target.split("/")[1];
    // A host of a plugin or service belongs to the owner of the key that reports it, not to the owner of the target.
    return slug === undefined ? subscribersOf(db, target) : subscribersOfOwner(db, holder, target, slug);
  },
};

/** Stores a message for each webhook that subscribes to an occurrence. Costs nothing where no owner has a webhook. */
async function tell(
  db: Queries,
  subscribers: readonly Subscriber[],
  subject: string,
  occurrences: readonly Occurrence[],
  now: number,
): Promise<void> {
  const timestamp = new Date(now).toISOString();
  const target = targetOfSubject(subject);
  for (const { id, events, name, target: only } of subscribers) {
    const wanted = events === "" ? undefined : new Set(events.split(" "));
    const heard = occurrences.filter(({ type }) => wanted?.has(type) ?? true);
    if (heard.length === 0 || (only !== null && only !== subject)) continue;
    const { waiting } = await selectWhere(own(db), "webhook_deliveries", { webhook_id: id, state: "pending" })
      .select((eb) => eb.fn.countAll<number>().as("waiting"))
      .executeTakeFirstOrThrow();
    const kept = heard.slice(0, Math.max(0, MAX_WAITING - Number(waiting)));
    if (kept.length < heard.length)
      await updateWhere(own(db), "webhooks", { id })
        .set((eb) => ({ dropped: eb("dropped", "+", heard.length - kept.length) }))
        .execute();
    const messages = kept.map(({ type, data }) =>
      deliveryOf(id, { type, timestamp, data: { target, name, ...data } }, now),
    );
    if (messages.length > 0) await own(db).insertInto("webhook_deliveries").values(messages).execute();
  }
}

/** Returns a message for a webhook, due at once. */
export const deliveryOf = (webhook: string, message: WebhookMessage, now: number) => ({
  id: recordId("msg", now),
  webhook_id: webhook,
  event: message.type,
  body: JSON.stringify(message),
  state: "pending" as const,
  attempts: 0,
  next_at: message.timestamp,
  last_error: null,
  created_at: message.timestamp,
});

/** Stores the messages of webhooks about an audit entry, in its transaction. */
export async function tellOfAudit(db: Queries, { action, subject, actor, facts = {} }: TellableEntry, now: number) {
  const deed = factsOfAction(action);
  if (deed?.event === undefined) return;
  const { event: type, state, hearer } = deed;
  const subscribers = await HEARERS[hearer](db, { holder: actor, target: subject });
  if (subscribers.length === 0) return;
  const { version = null, reason, replaced_by, sha256, required, rollout, open } = facts;
  const { root_id, root_version, signers, host_id } = facts;
  const data: EventData = {
    ...{ version, actor },
    ...(reason !== undefined && { reason: reason && cut(reason) }),
    ...given({ replaced_by, sha256, required, rollout: rollout ?? undefined, open, state }),
    ...given({ root_id, root_version, signers, host_id }),
  };
  await tell(db, subscribers, subject, [{ type, data }], now);
}

/**
 * Stores messages about hosts that failed, became unhealthy or are healthy again, in the transaction that stores their
 * reports.
 *
 * @param reports all of one view
 */
export async function tellOfHosts(db: Queries, reports: readonly ToldReport[]): Promise<void> {
  const occurrences = reports.flatMap((report) => [...failureIn(report), ...turnIn(report)]);
  if (occurrences.length === 0) return;
  const { holder, target, createdAt } = reports[0]!;
  const subscribers = await HEARERS.host(db, { holder, target });
  if (subscribers.length > 0) await tell(db, subscribers, target, occurrences, Date.parse(createdAt));
}

const cutMessage = ({ error_message: message = null }: ToldReport["hostRecord"]): string | null =>
  message && cut(message);

function failureIn({ version, hostId, status, hostRecord }: ToldReport): Occurrence[] {
  if (status === "success" || tellsUnhealthy(hostRecord)) return [];
  const data = { version, host_id: hostId, error_message: cutMessage(hostRecord) };
  const cause = blamelessCause({ status, ...hostRecord });
  if (cause === undefined) return [{ type: "host.failed", data: { ...data, status } }];
  // The next run of an interrupted one takes the version again: nobody has to do anything.
  return cause === "interrupted" ? [] : [{ type: "host.waiting", data: { ...data, cause } }];
}

function turnIn({ version, hostId, hostRecord, turned }: ToldReport): Occurrence[] {
  if (turned === undefined) return [];
  const { running_version: running = version, error_message: message } = hostRecord;
  const data = { version: running, host_id: hostId, since: turned.since };
  if (turned.state === "healthy") return [{ type: "host.healthy", data }];
  const cause = tellsUnhealthy(hostRecord) ? message?.slice(UNHEALTHY.length) : null;
  return [{ type: "host.unhealthy", data: { ...data, error_message: cutMessage({ error_message: cause }) } }];
}
