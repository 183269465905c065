import type { Queries, Transacted } from "./port.ts";
import { deleteWhere, selectWhere } from "./rows.ts";

/** Secret under a KEK, as stored in the database. */
export interface SealedSecret {
  kekId: string;
  /** Base64 of nonce (12) ‖ ciphertext ‖ tag (16), AES-256-GCM. */
  sealed: string;
}

/** Returns the name under which an owner's signing secret is sealed; the sealing is bound to it. */
export const signingSecretName = (owner: string) => `signing-key/${owner}`;

/** Reads a sealed secret by its name. */
export async function readSecret(db: Queries, name: string): Promise<SealedSecret | undefined> {
  const row = await selectWhere(db, "sealed_secrets", { name }).select(["kek_id", "sealed"]).executeTakeFirst();
  return row && { kekId: row.kek_id, sealed: row.sealed };
}

/** Stores a sealed secret under its name; `replace` decides whether it replaces an existing one. */
export async function writeSecret(
  transaction: Transacted,
  { name, secret, now, replace }: { name: string; secret: SealedSecret; now: string; replace: boolean },
): Promise<void> {
  const fields = { kek_id: secret.kekId, sealed: secret.sealed, created_at: now };
  await transaction
    .insertInto("sealed_secrets")
    .values({ name, ...fields })
    .onConflict((conflict) =>
      replace ? conflict.column("name").doUpdateSet(fields) : conflict.column("name").doNothing(),
    )
    .execute();
}

/** Returns when a secret was stored, ISO 8601, or undefined for an unknown name. */
export async function secretSince(db: Queries, name: string): Promise<string | undefined> {
  const row = await selectWhere(db, "sealed_secrets", { name }).select("created_at").executeTakeFirst();
  return row?.created_at;
}

/** Removes a secret. @returns false when there was none of that name */
export async function removeSecret(db: Queries, name: string): Promise<boolean> {
  const { numDeletedRows } = await deleteWhere(db, "sealed_secrets", { name }).executeTakeFirst();
  return numDeletedRows > 0n;
}
