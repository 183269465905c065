import { forbidden, keyRejected } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import { controls } from "../base/rights.ts";
import type { Transacted } from "../records/port.ts";
import { lockProject } from "../records/projects.ts";
import { selectWhere } from "../records/rows.ts";

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
