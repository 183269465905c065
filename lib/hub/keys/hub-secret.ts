import { hkdfSync, randomBytes } from "node:crypto";
import type { Kysely } from "kysely";
import type { Schema } from "../records/schema.ts";
import { type Keyring, sealInTransaction } from "./keyring.ts";
import { secretContext } from "./sealing.ts";

const readSealed = (db: Kysely<Schema>, name: string) => async () => {
  const row = await db
    .selectFrom("sealed_secrets")
    .select(["kek_id", "sealed"])
    .where("name", "=", name)
    .executeTakeFirst();
  return row && { kekId: row.kek_id, sealed: row.sealed };
};

/** Opens a sealed secret by name, or undefined. */
export function openSecret(db: Kysely<Schema>, keyring: Keyring, name: string): Promise<Buffer | undefined> {
  return keyring.open(readSealed(db, name), secretContext(name));
}

/** Seals and stores a secret under its name; `replace` decides whether an existing one gives way. */
export async function storeSecret(
  db: Kysely<Schema>,
  keyring: Keyring,
  { name, secret, now, replace }: { name: string; secret: Uint8Array; now: string; replace: boolean },
): Promise<void> {
  await sealInTransaction({ db, keyring, now }, secret, secretContext(name), async (transaction, { kekId, sealed }) => {
    const fields = { kek_id: kekId, sealed, created_at: now };
    await transaction
      .insertInto("sealed_secrets")
      .values({ name, ...fields })
      .onConflict((conflict) =>
        replace ? conflict.column("name").doUpdateSet(fields) : conflict.column("name").doNothing(),
      )
      .execute();
  });
}

/**
 * The hub's own secret, made at its first start and sealed like any other, so that it survives a rotation and every hub of one
 * database signs download URLs with the same key.
 *
 * @returns a 32-byte key derived from it for one purpose
 */
export async function hubKey(db: Kysely<Schema>, keyring: Keyring, purpose: string, now: string): Promise<Buffer> {
  let secret = await openSecret(db, keyring, "hub");
  if (secret === undefined) {
    await storeSecret(db, keyring, { name: "hub", secret: randomBytes(32), now, replace: false });
    secret = await openSecret(db, keyring, "hub");
  }
  if (secret === undefined) throw new Error("the hub's secret could not be stored");
  return Buffer.from(hkdfSync("sha256", secret, "sealift", purpose, 32));
}
