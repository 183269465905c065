import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ActionName } from "../../contract/audit-actions.ts";
import type { Principal } from "../base/principal.ts";
import { insertAudit } from "../records/audit.ts";
import { inTransaction, type Records, type Transacted } from "../records/port.ts";

/** An action for the audit log; never with a secret. */
export interface AuditEntry {
  action: ActionName;
  subject: string;
  facts?: Record<string, string | number | boolean | null>;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Entries that the request has begun, including those whose transaction was undone; null for none. */
    auditEntries: AuditEntry[] | null;
  }
}

/** Delays the answer of a request until its audit entries were heard. @param hear never rejects */
export function awaitAuditHooks(app: FastifyInstance, hear: (entry: AuditEntry) => Promise<void>): void {
  app.decorateRequest("auditEntries", null);
  app.addHook("onSend", ({ auditEntries }, _reply, _payload, done) => {
    if (auditEntries === null) done();
    else void Promise.allSettled(auditEntries.map(hear)).then(() => done());
  });
}

/** Writes an audit entry in the transaction that does the work: neither exists without the other. */
export type AuditWriter = (transaction: Transacted, entry: AuditEntry) => Promise<void>;

/** The actor of an entry: the owner of a key, and its id. */
type Actor = Pick<Principal, "owner" | "keyId">;

/** Returns the audit writer of a request. */
export function auditWriterOf(
  { clock }: Pick<Records, "clock">,
  request: FastifyRequest,
  { owner, keyId }: Actor,
): AuditWriter {
  const { ip: address, id: request_id, isWeb, person } = request;
  return (transaction, entry) => {
    const { action, subject, facts: given = {} } = entry;
    (request.auditEntries ??= []).push(entry);
    const named = person && { issuer: person.issuer, person: person.subject };
    const facts = isWeb ? { ...given, by: "web", ...named } : given;
    return insertAudit(
      transaction,
      { action, actor: owner, key_id: keyId, subject, facts, address, request_id },
      clock(),
    );
  };
}

/** Runs `work` in a transaction, in which `tell` writes audit entries. Work that throws has done nothing. */
export function audited<T>(
  hub: Pick<Records, "clock" | "database">,
  request: FastifyRequest,
  principal: Actor,
  work: (transaction: Transacted, tell: (entry: AuditEntry) => Promise<void>) => Promise<T>,
): Promise<T> {
  const writeAudit = auditWriterOf(hub, request, principal);
  return inTransaction(hub.database.kysely, (transaction) =>
    work(transaction, (entry) => writeAudit(transaction, entry)),
  );
}
