import type { FastifyReply, FastifyRequest } from "fastify";
import { forbidden, keyRejected } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import { controls } from "../base/rights.ts";
import type { Arrivals } from "../http/arrivals.ts";
import type { Records, Transacted } from "../records/port.ts";
import { lockProject } from "../records/projects.ts";
import { selectWhere } from "../records/rows.ts";
import { type AuditWriter, auditWriterOf } from "./audit.ts";

/** An upload to a project, plugin or service. */
interface Upload {
  principal: Principal;
  projectId: string;
}

/**
 * Lets an upload begin, and returns the audit writer of its request. Uploads take long: the writer refuses what comes
 * by a key that was revoked meanwhile, or for a target that its owner has lost.
 */
export function admitUpload(
  hub: Pick<Records, "clock"> & { arrivals: Arrivals },
  request: FastifyRequest,
  reply: FastifyReply,
  upload: Upload,
): AuditWriter {
  hub.arrivals.admit(request, reply, upload.principal.owner);
  const writeAudit = auditWriterOf(hub, request, upload.principal);
  return async (transaction, entry) => {
    await requireStill(transaction, upload, new Date(hub.clock()).toISOString());
    await writeAudit(transaction, entry);
  };
}

/**
 * Requires that a request may still do what it might when it began. Locks the target's row: a transfer comes before and
 * is seen, or after and ends what the request has made.
 *
 * @param request projectId is null for one that acts on no target
 * @param now ISO 8601
 * @throws HubError 401 for a key that somebody has ended since, 403 for a target that the key acts on no more, 404 for
 *   one that was deleted
 */
export async function requireStill(
  transaction: Transacted,
  { principal, projectId }: { principal: Principal; projectId: string | null },
  now: string,
): Promise<void> {
  const { keyId: id, expiresAt } = principal;
  const project = projectId === null ? undefined : await lockProject(transaction, projectId);
  const key = await selectWhere(transaction, "api_keys", { id })
    .select(["revoked_at", "expires_at", "owner"])
    .executeTakeFirstOrThrow();
  // A key that ends as it was to end lets its last upload through.
  const hasEnded = key.expires_at !== null && key.expires_at !== expiresAt && key.expires_at <= now;
  if (key.revoked_at !== null || hasEnded) throw keyRejected();
  if (project !== undefined && !controls({ ...principal, owner: key.owner }, project))
    throw forbidden("The target went to another owner meanwhile.");
}
