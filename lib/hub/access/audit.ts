import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Deed } from "../../contract/audit-actions.ts";
import type { Principal } from "../base/principal.ts";
import { insertAudit } from "../records/audit.ts";
import { inTransaction, type Records, type Transacted, type TransactedIn } from "../records/port.ts";
import { type Authority, type Held, requireStill, type TargetIds } from "./still-allowed.ts";

/** Deed and what it was done to, as an audit log entry tells it. */
export type AuditEntry = Deed & { subject: string };

declare module "fastify" {
  interface FastifyRequest {
    /** Entries begun by the request, including those whose transaction was rolled back; null for none. */
    auditEntries: AuditEntry[] | null;
  }
}

/** Delays the answer to a request until its audit entries have been passed to `hear`, which must never reject. */
export function awaitAuditHooks(app: FastifyInstance, hear: (entry: AuditEntry) => Promise<void>): void {
  app.decorateRequest("auditEntries", null);
  app.addHook("onSend", ({ auditEntries }, _reply, _payload, done) => {
    if (auditEntries === null) done();
    else void Promise.allSettled(auditEntries.map(hear)).then(() => done());
  });
}

/** Writes an audit entry in the transaction that makes the change: both are stored, or neither. */
export type AuditWriter = (transaction: Transacted, entry: AuditEntry) => Promise<void>;

/** Actor of an audit entry: owner and id of a key. */
type Actor = Pick<Principal, "owner" | "keyId">;

/** Returns the audit writer of a request whose rights are decided in the transaction itself. */
export function auditWriterOf(
  { clock }: Pick<Records, "clock">,
  request: FastifyRequest,
  { owner, keyId }: Actor,
): AuditWriter {
  const { ip: address, id: request_id, isWeb, person } = request;
  return (transaction, entry) => {
    (request.auditEntries ??= []).push(entry);
    const named = person && { issuer: person.issuer, person: person.subject };
    const by = isWeb ? { by: "web", ...named } : {};
    return insertAudit(transaction, { ...entry, actor: owner, key_id: keyId, address, request_id }, clock(), by);
  };
}

/**
 * Returns the audit writer of a request that takes its time before it makes its change, such as an upload. It refuses
 * what comes by a key that was revoked meanwhile, or for a target that its owner has lost ({@link requireStill}).
 */
export function lateAuditWriter(
  hub: Pick<Records, "clock">,
  request: FastifyRequest,
  authority: Authority,
): AuditWriter {
  const writeAudit = auditWriterOf(hub, request, authority.principal);
  return async (transaction, entry) => {
    await requireStill(transaction, authority, new Date(hub.clock()).toISOString());
    await writeAudit(transaction, entry);
  };
}

/**
 * Runs `work` in a transaction. If `work` throws, nothing is changed.
 *
 * @param work gets `tell`, which writes audit entries, and the rows that the transaction has locked. The change takes
 *   its facts from those: what the request has read before may be old
 * @throws HubError if the request may not do it any more ({@link requireStill}); rejects with what `work` throws
 */
export function audited<T, const Ids extends TargetIds>(
  hub: Pick<Records, "clock" | "database">,
  request: FastifyRequest,
  authority: Authority<Ids>,
  work: <In>(
    transaction: TransactedIn<In>,
    tell: (entry: AuditEntry) => Promise<void>,
    held: Held<In, Ids>,
  ) => Promise<T>,
): Promise<T> {
  const writeAudit = auditWriterOf(hub, request, authority.principal);
  return inTransaction(hub.database.kysely, async (transaction) => {
    const held = await requireStill(transaction, authority, new Date(hub.clock()).toISOString());
    return work(transaction, (entry) => writeAudit(transaction, entry), held);
  });
}
