import type { StagedVersion } from "../../../contract/staging/staging.ts";
import { targetText } from "../../../contract/target.ts";
import { may, type Principal } from "../../base/principal.ts";
import { controlled } from "../../base/rights.ts";
import { commonEnd, type Ends, endsOfKey, parsedEnds } from "../../records/ends.ts";
import type { PageRange, Queries } from "../../records/port.ts";
import { selectVersions } from "../../records/versions.ts";

/** Starts a query for the staged versions that a key sees, with their targets and the keys that staged them. */
function visible(db: Queries, principal: Principal) {
  const { owner, id } = controlled(principal);
  return selectVersions(db)
    .innerJoin("projects as p", "p.id", "v.project_id")
    .leftJoin("api_keys as k", "k.id", "v.published_by")
    .select(["p.kind", "p.slug", "p.name", "p.owner", "k.name as publisher", "k.acts_for", "k.trusted_by"])
    .select(["k.ends as key_ends"])
    .where("v.state", "=", "staged")
    .$if(owner !== undefined, (query) => query.where("p.owner", "=", owner!))
    .$if(id !== null, (query) => query.where("p.id", "=", id!))
    .$if(!may(principal, "publish"), (query) => query.where("v.published_by", "=", principal.keyId));
}

/** Staged version, with its target. */
export type StagedRow = Awaited<ReturnType<typeof listStaged>>[number];

/** Lists the staged versions that a key sees, oldest first. */
export const listStaged = (db: Queries, principal: Principal, { after, limit }: PageRange) =>
  visible(db, principal).where("v.id", ">", after).orderBy("v.id").limit(limit).execute();

/** Finds a staged version; undefined for none, or for one that the key may not see. */
export const findStaged = (
  db: Queries,
  principal: Principal,
  { projectId, version }: { projectId: string; version: string },
): Promise<StagedRow | undefined> =>
  visible(db, principal).where("v.project_id", "=", projectId).where("v.version", "=", version).executeTakeFirst();

/** Returns the ends of whoever staged a version. Of 0.1.0 they are those of the key, which may be gone. */
export const endsOfStaged = (row: StagedRow): Ends =>
  row.ends === null ? endsOfKey({ ...row, id: row.published_by ?? "", ends: row.key_ends }) : parsedEnds(row.ends);

/** @param approver ends of the key that asks; undefined for one that may not approve */
export const stagedRecord = (row: StagedRow, approver: Ends | undefined): StagedVersion => ({
  project_id: row.project_id,
  target: targetText(row),
  ...{ name: row.name, version: row.version, sha256: row.sha256, size_bytes: Number(row.size_bytes) },
  signer_public_key: row.signer_public_key,
  ...{ staged_at: row.state_since!, published_by: row.publisher, is_yanked: row.is_yanked !== 0 },
  may_approve: approver !== undefined && commonEnd(endsOfStaged(row), approver) === undefined,
});
