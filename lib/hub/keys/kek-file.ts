import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import * as z from "zod";
import { usageError } from "../../contract/errors.ts";
import { readFault, readKeyFile, writeFileAtomic } from "../../support/files.ts";
import { tryLock } from "../../support/process-lock.ts";

/** Key-encryption key. A file may hold several; the last one is the newest and is used for sealing. */
export interface Kek {
  id: string;
  /** Key, 32 bytes. */
  key: Buffer;
  createdAt: string;
}

const kekFile = z.strictObject({
  keys: z
    .array(
      z.strictObject({
        id: z.string().regex(/^kek_[0-9a-f]{16}$/),
        created_at: z.string(),
        key: z.base64().refine((text) => Buffer.from(text, "base64").length === 32, "must be 32 bytes"),
      }),
    )
    .min(1),
});

export function newKek(now: number): Kek {
  return {
    id: `kek_${randomBytes(8).toString("hex")}`,
    key: randomBytes(32),
    createdAt: new Date(now).toISOString(),
  };
}

/** Reads a KEK file. @throws `credential_unreadable` when the file is missing or is not a KEK file */
export async function readKekFile(path: string): Promise<Kek[]> {
  let text: string;
  try {
    text = (await readKeyFile(path)).toString("utf8");
  } catch (error) {
    throw usageError("credential_unreadable", `The KEK file ${path} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Check the path of --kek-file, and that the hub's user may read it.",
    });
  }
  const keks = parseKeks(text);
  if (keks === undefined) throw usageError("credential_unreadable", `The KEK file ${path} is not one of a hub.`);
  return keks;
}

/** Parses a KEK file; undefined for anything else. */
export function parseKeks(text: string): Kek[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Without the parser's message, which quotes the text.
    return undefined;
  }
  const parsed = kekFile.safeParse(value);
  return parsed.data?.keys.map(({ id, key, created_at }) => ({
    id,
    key: Buffer.from(key, "base64"),
    createdAt: created_at,
  }));
}

/** Writes KEKs as a KEK file holds them. */
export function formatKeks(keks: readonly Kek[]): string {
  const keys = keks.map(({ id, key, createdAt }) => ({ id, created_at: createdAt, key: key.toString("base64") }));
  return `${JSON.stringify({ keys }, null, 2)}\n`;
}

/** Writes the whole file atomically, mode 0600: a running hub reads the old keys or the new ones. */
export async function writeKekFile(path: string, keks: readonly Kek[]): Promise<void> {
  await writeFileAtomic(path, formatKeks(keks), { mode: 0o600 });
}

/** Returns a mark that changes whenever the file is replaced. */
export async function kekFileVersion(path: string): Promise<string> {
  const { ino, mtimeNs, size } = await stat(path, { bigint: true });
  return `${ino}:${mtimeNs}:${size}`;
}

/**
 * Locks the file for one rotation: two at a time would each drop the other's new key.
 *
 * @throws UsageError `usage` when another process holds the lock
 */
export function lockKekFile(path: string): Disposable {
  const lock = tryLock(`${path}.rotation`);
  if (lock !== undefined) return lock;
  throw usageError("usage", `Another rotation is changing ${path}; wait until it is done.`);
}
