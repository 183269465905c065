import type { FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../base/principal.ts";
import type { Arrivals } from "../http/arrivals.ts";
import type { Records } from "../records/port.ts";
import { type AuditWriter, lateAuditWriter } from "./audit.ts";

/** An upload to a project, plugin or service. */
interface Upload {
  principal: Principal;
  projectId: string;
}

/** Lets an upload begin, and returns the audit writer of its request. */
export function admitUpload(
  hub: Pick<Records, "clock"> & { arrivals: Arrivals },
  request: FastifyRequest,
  reply: FastifyReply,
  { principal, projectId }: Upload,
): AuditWriter {
  hub.arrivals.admit(request, reply, principal.owner);
  return lateAuditWriter(hub, request, { principal, projectIds: [projectId] });
}
