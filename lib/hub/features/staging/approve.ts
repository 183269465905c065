import type { ApprovedVersion } from "../../../contract/staging/staging.ts";
import { conflict, HubError, notFound } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { requireSigner } from "../../publications/signed-bytes.ts";
import { actorsOf } from "../../records/keys.ts";
import { changeTarget } from "../../records/latest/change-target.ts";
import { findMarks } from "../../records/latest/states.ts";
import type { Transacted, TransactedIn } from "../../records/port.ts";
import { updateWhere } from "../../records/rows.ts";
import { OPEN } from "../../records/version-tables.ts";
import { findVersionById, removeRows, type Version } from "../../records/versions.ts";
import { findStaged, hasStaged, type StagedRow, stagerOf } from "./records.ts";

/** Moves out of the state `staged`; each call is part of a transaction (docs/contract/staging.md). */

/** Returns a staged version. @throws HubError 404 for no such version; 409 for one that is published */
async function stagedVersion(
  transaction: Transacted,
  principal: Principal,
  what: { projectId: string; version: string },
): Promise<StagedRow> {
  const staged = await findStaged(transaction, principal, what);
  if (staged !== undefined) return staged;
  const { projectId, version } = what;
  const state = (await findMarks(transaction, projectId, version))?.state;
  throw state === undefined || state === "staged"
    ? notFound("There is no such staged version.")
    : conflict(`${version} is published already.`);
}

/** Words for whoever staged a version, by the prefix of the name (lib/hub/records/keys.ts). */
const ACTORS: Readonly<Record<string, string>> = { person: "person", run: "workflow run", key: "key" };

/** Requires that the approver did not stage the version. @throws HubError 403 */
async function requireAnother(transaction: Transacted, staged: StagedRow, { keyId }: Principal): Promise<void> {
  const approver = { keyId, ...(await actorsOf(transaction, keyId)) };
  if (!hasStaged(approver, staged)) return;
  const stager = stagerOf(staged);
  const what = ACTORS[stager.slice(0, stager.indexOf(":"))] ?? "key";
  const who = approver.trustedBy === stager ? `${what} that trusts this workflow` : `same ${what}`;
  throw new HubError(
    403,
    "own_approval",
    `${staged.version} of ${staged.name} was staged by the ${who}: another person approves it, with a key of their own.`,
  );
}

/**
 * Approves a staged version, which publishes it: its state is that of a version published now.
 *
 * @param now milliseconds since 1970
 * @throws HubError 403 for the one who has staged it, and for a signer that may sign no more; 404; 409 for other bytes,
 *   and for a version that is published or yanked
 */
export function approveVersion<In>(
  transaction: TransactedIn<In>,
  principal: Principal,
  { project_id: projectId, version, sha256 }: ApprovedVersion,
  now: number,
): Promise<{ staged: StagedRow; published: Version }> {
  return changeTarget(transaction, projectId, now, async (target, touch, tell) => {
    const staged = await stagedVersion(transaction, principal, { projectId, version });
    if (staged.sha256 !== sha256)
      throw new HubError(
        409,
        "approval_differs",
        `The staged bytes of ${version} have the SHA-256 ${staged.sha256}, not ${sha256}: look at them again.`,
      );
    await requireAnother(transaction, staged, principal);
    if (staged.is_yanked !== 0)
      throw conflict(`${version} was yanked${staged.yanked_reason === null ? "" : `: ${staged.yanked_reason}`}.`);
    // It is published now: a signer whose key was stolen meanwhile signs nothing more.
    if (target.kind !== "project" || staged.signer_public_key !== null)
      await requireSigner(transaction, target, staged.signer_public_key);
    const at = new Date(now).toISOString();
    const { id } = staged;
    await updateWhere(transaction, "versions", { id })
      .set({ ...OPEN, approved_by: principal.keyId, approved_at: at, created_at: at })
      .execute();
    touch(version);
    await tell({ what: "publish", version });
    return { staged, published: (await findVersionById(transaction, id))! };
  });
}

/**
 * Removes a staged version. No host ever got it, so its label can be used again.
 *
 * @param now milliseconds since 1970
 * @returns the version, and the ids of blobs that are no longer needed
 * @throws HubError 404; 409 for a version that is published
 */
export function rejectVersion(
  transaction: Transacted,
  principal: Principal,
  what: { projectId: string; version: string },
  now: number,
): Promise<{ staged: StagedRow; blobs: string[] }> {
  return changeTarget(transaction, what.projectId, now, async () => {
    const staged = await stagedVersion(transaction, principal, what);
    return { staged, blobs: await removeRows(transaction, staged) };
  });
}
