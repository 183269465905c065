import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ActionName } from "../../contract/audit-actions.ts";
import type { Principal } from "../ground/principal.ts";
import { insertAudit } from "../records/audit.ts";
import { inTransaction, type Records, type Transacted } from "../records/port.ts";

/** A deed for the audit log; never with a secret. */
export interface Deed {
  action: ActionName;
  subject: string;
  facts?: Record<string, string | number | boolean | null>;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Deeds that the request began so far: one whose transaction was undone is named, too. Null for none. */
    deeds: Deed[] | null;
  }
}

/** Has each request with deeds wait with its answer until they were heard. @param hear never rejects */
export function tellDeeds(app: FastifyInstance, hear: (deed: Deed) => Promise<void>): void {
  app.decorateRequest("deeds", null);
  app.addHook("onSend", ({ deeds }, _reply, _payload, done) => {
    if (deeds === null) done();
    else void Promise.allSettled(deeds.map(hear)).then(() => done());
  });
}

/** Writes down what a request does, in the transaction that does it: neither is there without the other. */
export type Witness = (transaction: Transacted, deed: Deed) => Promise<void>;

/** The one who does a deed: the owner of a key, and its id. */
type Actor = Pick<Principal, "owner" | "keyId">;

/** Returns the witness of a request. */
export function witnessOf(
  { clock }: Pick<Records, "clock">,
  request: FastifyRequest,
  { owner, keyId }: Actor,
): Witness {
  const { ip: address, id: request_id, isWeb, person } = request;
  return (transaction, deed) => {
    const { action, subject, facts: given = {} } = deed;
    (request.deeds ??= []).push(deed);
    const named = person && { issuer: person.issuer, person: person.subject };
    const facts = isWeb ? { ...given, by: "web", ...named } : given;
    return insertAudit(
      transaction,
      { action, actor: owner, key_id: keyId, subject, facts, address, request_id },
      clock(),
    );
  };
}

/** Runs `work` in a transaction that `tell` writes deeds down in. Work that throws has done nothing. */
export function audited<T>(
  hub: Pick<Records, "clock" | "database">,
  request: FastifyRequest,
  principal: Actor,
  work: (transaction: Transacted, tell: (deed: Deed) => Promise<void>) => Promise<T>,
): Promise<T> {
  const witness = witnessOf(hub, request, principal);
  return inTransaction(hub.database.kysely, (transaction) => work(transaction, (deed) => witness(transaction, deed)));
}
