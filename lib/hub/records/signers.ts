import type { SignerRecord } from "../../contract/surfaces/signers.ts";
import type { SignersTable } from "./core-tables.ts";
import type { PageRange, Queries } from "./port.ts";
import { selectWhere, updateWhere } from "./rows.ts";

/** Returns a signer's public key in hexadecimal, as people see it. */
const hexOf = (base64: string): string => Buffer.from(base64, "base64").toString("hex");
const base64Of = (hex: string): string => Buffer.from(hex, "hex").toString("base64");

/** State of a key in a project's register of signers. */
export type SignerState = "active" | "retired" | "revoked" | "unknown" | "no register";

/** Returns the record of a signer as the API shows it. */
function signerRecord({ public_key: key, project_id: _project, ...row }: SignersTable): SignerRecord {
  const state = row.revoked_at !== null ? "revoked" : row.retired_at !== null ? "retired" : "active";
  return { public_key: hexOf(key), state, ...row };
}

/** Returns the state of a signer. @param key base64 */
export async function signerState(db: Queries, projectId: string, key: string): Promise<SignerState> {
  const row = await rowOf(db, projectId, key);
  if (row !== undefined) return signerRecord(row).state;
  const any = await selectWhere(db, "signers", { project_id: projectId }).select("public_key").limit(1).execute();
  return any.length > 0 ? "unknown" : "no register";
}

const rowOf = (db: Queries, projectId: string, key: string): Promise<SignersTable | undefined> =>
  selectWhere(db, "signers", { project_id: projectId, public_key: key }).selectAll().executeTakeFirst();

/** Finds a signer. @param key hexadecimal */
export async function findSigner(db: Queries, projectId: string, key: string): Promise<SignerRecord | undefined> {
  const row = await rowOf(db, projectId, base64Of(key));
  return row && signerRecord(row);
}

/** Adds a signer, or reactivates a retired one. A revoked one stays revoked. @param key hexadecimal */
export async function addSigner(
  db: Queries,
  projectId: string,
  { key, name, by, now }: { key: string; name: string; by: string; now: string },
): Promise<SignerRecord> {
  const fresh = { name, added_at: now, added_by: by, retired_at: null, retired_by: null };
  const ended = { revoked_at: null, revoked_by: null, reason: null };
  await db
    .insertInto("signers")
    .values({ project_id: projectId, public_key: base64Of(key), ...fresh, ...ended })
    .onConflict((conflict) =>
      conflict.columns(["project_id", "public_key"]).doUpdateSet(fresh).where("signers.revoked_at", "is", null),
    )
    .execute();
  return (await findSigner(db, projectId, key))!;
}

/**
 * Retires or revokes a signer; one that has ended so already stays as it is, and so does a revoked one that is retired.
 *
 * @param key hexadecimal
 * @returns whether the signer has changed
 */
export async function endSigner(
  db: Queries,
  projectId: string,
  {
    key,
    how,
    by,
    reason,
    now,
  }: { key: string; how: "retired" | "revoked"; by: string; reason: string | null; now: string },
): Promise<boolean> {
  const signer = { project_id: projectId, public_key: base64Of(key), revoked_at: null };
  const { numUpdatedRows } = await updateWhere(
    db,
    "signers",
    how === "retired" ? { ...signer, retired_at: null } : signer,
  )
    .set(how === "retired" ? { retired_at: now, retired_by: by, reason } : { revoked_at: now, revoked_by: by, reason })
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Lists the signers of a project by their keys. @param after hexadecimal */
export async function listSigners(
  db: Queries,
  projectId: string,
  { after, limit }: PageRange,
): Promise<SignerRecord[]> {
  const rows = await selectWhere(db, "signers", { project_id: projectId })
    .selectAll()
    .where("public_key", ">", base64Of(after))
    .orderBy("public_key")
    .limit(limit)
    .execute();
  return rows.map(signerRecord);
}
