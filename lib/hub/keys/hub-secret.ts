import { hkdfSync, randomBytes } from "node:crypto";
import type { Queries } from "../records/port.ts";
import { readSecret, writeSecret } from "../records/secrets.ts";
import { type Keyring, sealInTransaction } from "./keyring.ts";
import { secretContext } from "./sealing.ts";

/** Opens a sealed secret by name, or undefined. */
export function openSecret(db: Queries, keyring: Keyring, name: string): Promise<Buffer | undefined> {
  return keyring.open(() => readSecret(db, name), secretContext(name));
}

/** Seals and stores a secret under its name; `replace` decides whether it replaces an existing one. */
export async function storeSecret(
  db: Queries,
  keyring: Keyring,
  { name, secret, now, replace }: { name: string; secret: Uint8Array; now: string; replace: boolean },
): Promise<void> {
  await sealInTransaction({ db, keyring, now }, secret, secretContext(name), (transaction, sealed) =>
    writeSecret(transaction, { name, secret: sealed, now, replace }),
  );
}

/**
 * Derives a key from the hub's own secret, which all hubs of one database share and rotations keep.
 *
 * @returns 32 bytes for one purpose
 */
export async function hubKey(db: Queries, keyring: Keyring, purpose: string, now: string): Promise<Buffer> {
  let secret = await openSecret(db, keyring, "hub");
  if (secret === undefined) {
    await storeSecret(db, keyring, { name: "hub", secret: randomBytes(32), now, replace: false });
    secret = await openSecret(db, keyring, "hub");
  }
  if (secret === undefined) throw new Error("the hub's secret could not be stored");
  return Buffer.from(hkdfSync("sha256", secret, "sealift", purpose, 32));
}
