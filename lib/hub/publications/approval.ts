import { approvalRequired, forbidden } from "../base/errors.ts";
import { may, type Principal } from "../base/principal.ts";
import type { Queries } from "../records/port.ts";
import { findProject } from "../records/projects.ts";
import type { VersionsTable } from "../records/version-tables.ts";

/** Returns the audit action of storing a version, by its state afterwards. */
export const publishedAs = (state: VersionsTable["state"]) =>
  state === "staged" ? "version.stage" : "version.publish";

/**
 * Requires that a key may add to a version: deltas, its index, statements. A key that may only stage adds to its own
 * staged versions, until they are approved.
 *
 * @throws HubError 403
 */
export function requireCompletable(
  principal: Principal,
  { state, published_by: stager }: Pick<VersionsTable, "state" | "published_by">,
): void {
  const isOwn = state === "staged" && stager === principal.keyId;
  if (!isOwn && !may(principal, "publish"))
    throw forbidden("The key may add to the versions that it has staged, until they are approved.");
}

/** Tells whether a form requests that its version be staged. */
export const isStaged = ({ stage }: { stage?: string | undefined }): boolean => stage === "true";

/**
 * Returns a check of a form's fields, to be run before its file is read: a key that may only stage must stage, and so
 * must everybody where the target requires approval.
 */
export async function stagingCheck(
  db: Queries,
  projectId: string,
  principal: Principal,
): Promise<(fields: { stage?: string | undefined }) => void> {
  const project = await findProject(db, projectId);
  return (fields) => {
    if (isStaged(fields)) return;
    if (project !== undefined && project.requires_approval !== 0) throw approvalRequired(project);
    if (!may(principal, "publish"))
      throw forbidden(
        "The key may stage versions, not publish them: publish with --stage, and another person approves.",
      );
  };
}
