import type { FastifyRequest } from "fastify";
import type { AuditAction } from "../../contract/surfaces/keys.ts";
import type { HubContext } from "../context.ts";
import { insertAudit } from "../records/audit.ts";
import type { Principal } from "./principal.ts";

/** What was done to what; never with a secret. */
export interface Deed {
  action: AuditAction;
  subject: string;
  facts?: Record<string, string | number | boolean | null>;
}

/** Writes down what a request has done. A log that cannot be written is told, and undoes nothing. */
export async function audit(
  { database, clock, logger }: HubContext,
  request: FastifyRequest,
  { owner, keyId }: Principal,
  { action, subject, facts = {} }: Deed,
): Promise<void> {
  const entry = { action, actor: owner, key_id: keyId, subject, facts, address: request.ip, request_id: request.id };
  try {
    await insertAudit(database.kysely, entry, clock());
  } catch (error) {
    logger?.error({ err: error, audit: entry }, "could not write the audit log");
  }
}
