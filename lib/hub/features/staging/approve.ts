import type { ApprovedVersion } from "../../../contract/staging/staging.ts";
import { conflict, HubError, notFound } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { requireSigner } from "../../publications/signed-bytes.ts";
import { commonEnd, endsOfKey, isRunEnd } from "../../records/ends.ts";
import { type Key, principalOfKey } from "../../records/keys.ts";
import { changeTarget } from "../../records/latest/change-target.ts";
import { findMarks } from "../../records/latest/states.ts";
import type { Locked } from "../../records/locked.ts";
import type { Transacted, TransactedIn } from "../../records/port.ts";
import { updateWhere } from "../../records/rows.ts";
import { OPEN } from "../../records/version-tables.ts";
import { findVersionById, removeRows, type Version } from "../../records/versions.ts";
import { endsOfStaged, findStaged, type StagedRow } from "./records.ts";

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

/** Words for ends, by their prefixes (lib/hub/records/ends.ts). */
const WORDS: Readonly<Record<string, string>> = { person: "person", run: "workflow run", key: "key" };

/** Requires that the same person, run or key does not stand behind both sides. @throws HubError 403 */
function requireAnother<In>(staged: StagedRow, approver: Locked<Key, In>): void {
  const [stager, ends] = [endsOfStaged(staged), endsOfKey(approver)];
  const shared = commonEnd(stager, ends);
  if (shared === undefined) return;
  const what = WORDS[shared.slice(0, shared.indexOf(":"))] ?? "key";
  const runs = [...stager, ...ends].some(isRunEnd) && !isRunEnd(shared);
  const who = runs ? `same ${what}, or by a workflow that it trusts` : `same ${what}`;
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
  approver: Locked<Key, In>,
  { project_id: projectId, version, sha256 }: ApprovedVersion,
  now: number,
): Promise<{ staged: StagedRow; published: Version }> {
  return changeTarget(transaction, projectId, now, async (target, touch, tell) => {
    const staged = await stagedVersion(transaction, principalOfKey(approver), { projectId, version });
    if (staged.sha256 !== sha256)
      throw new HubError(
        409,
        "approval_differs",
        `The staged bytes of ${version} have the SHA-256 ${staged.sha256}, not ${sha256}: look at them again.`,
      );
    requireAnother(staged, approver);
    if (staged.is_yanked !== 0)
      throw conflict(`${version} was yanked${staged.yanked_reason === null ? "" : `: ${staged.yanked_reason}`}.`);
    // It is published now: a signer whose key was stolen meanwhile signs nothing more.
    if (target.kind !== "project" || staged.signer_public_key !== null)
      await requireSigner(transaction, target, staged.signer_public_key);
    const at = new Date(now).toISOString();
    const { id } = staged;
    await updateWhere(transaction, "versions", { id })
      .set({ ...OPEN, approved_by: approver.id, approved_at: at, created_at: at })
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
