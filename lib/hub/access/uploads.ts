import type { FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../base/principal.ts";
import type { Arrivals } from "../http/arrivals.ts";
import type { Records } from "../records/port.ts";
import { type AuditWriter, auditWriterOf } from "./audit.ts";
import { requireStill } from "./still-allowed.ts";

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
