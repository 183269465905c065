import { forbidden, keyRejected } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import { controls } from "../base/rights.ts";
import type { Transacted } from "../records/port.ts";
import { lockProject } from "../records/projects.ts";
import { selectWhere } from "../records/rows.ts";

/** Key by which a request changes something, and the projects, plugins and services that it changes. */
export interface Authority {
  principal: Principal;
  /** Empty for what belongs to the key's owner; nulls are passed over. */
  projectIds: readonly (string | null)[];
}

/**
 * Requires that a request may still do what it might when it began. Locks the targets' rows, always in the same order:
 * a transfer comes before and is seen, or after and ends what the request has made.
 *
 * @param now ISO 8601
 * @throws HubError 401 for a key that somebody has ended since, 403 for a target that the key acts on no more, 404 for
 *   one that was deleted
 */
export async function requireStill(
  transaction: Transacted,
  { principal, projectIds }: Authority,
  now: string,
): Promise<void> {
  const ids = [...new Set(projectIds)].filter((id) => id !== null).sort();
  const projects = [];
  for (const id of ids) projects.push(await lockProject(transaction, id));
  const { keyId: id, expiresAt } = principal;
  const key = await selectWhere(transaction, "api_keys", { id })
    .select(["revoked_at", "expires_at", "owner"])
    .executeTakeFirstOrThrow(() => keyRejected());
  // A key that ends as it was to end lets its last request through.
  const hasEnded = key.expires_at !== null && key.expires_at !== expiresAt && key.expires_at <= now;
  if (key.revoked_at !== null || hasEnded) throw keyRejected();
  const current = { ...principal, owner: key.owner };
  if (ids.length === 0 && current.owner !== principal.owner)
    throw forbidden("The key went to another owner meanwhile.");
  if (projects.some((project) => !controls(current, project)))
    throw forbidden("The target went to another owner meanwhile.");
}
