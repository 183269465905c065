import type { SignerRecord } from "../../contract/surfaces/signers.ts";
import type { SignersTable } from "./core-tables.ts";
import type { Locked } from "./locked.ts";
import type { PageRange, Queries, TransactedIn } from "./port.ts";
import type { Project } from "./projects.ts";
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

/** Signers that a register is to have, as a trust root names them. */
export interface NamedSigners {
  /** Names for people, by the public keys, hexadecimal. */
  names: ReadonlyMap<string, string>;
  /** Owner of the key that makes the change. */
  by: string;
  /** Reason for which all others are retired. */
  reason: string;
  /** ISO 8601. */
  now: string;
}

/** Makes the named keys the active signers, and retires all others. A revoked one stays revoked. */
export async function setSigners<In>(
  transaction: TransactedIn<In>,
  { id }: Locked<Project, In>,
  { names, by, reason, now }: NamedSigners,
): Promise<void> {
  const rows = await selectWhere(transaction, "signers", { project_id: id }).selectAll().execute();
  const active = new Set(
    rows.map(signerRecord).flatMap(({ public_key: key, state }) => (state === "active" ? [key] : [])),
  );
  for (const [key, name] of names) if (!active.has(key)) await addSigner(transaction, id, { key, name, by, now });
  for (const key of active)
    if (!names.has(key)) await endSigner(transaction, id, { key, how: "retired", by, reason, now });
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
