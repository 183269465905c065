import { createPrivateKey, sign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { Ed25519Verifier, equalBytes, publicKeyOf } from "../../artifact/signatures/ed25519.ts";
import { artifactError, usageError } from "../../contract/errors.ts";
import { sha256Hex } from "../../contract/identifiers.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import { ifThere, writeFileAtomic } from "../../support/files.ts";

const MANIFEST_FILE = "backup.json";
const count = z.int().nonnegative();

const manifest = z.strictObject({
  format: z.literal(2),
  created_at: z.iso.datetime(),
  /** Migrations of the database that was backed up. */
  schema: z.array(z.string()),
  records: z.strictObject({ sha256: sha256Hex, counts: z.record(z.string(), count) }),
  artifacts: z.strictObject({ count, bytes: count }),
  /** Records in the file whose artifact was missing or damaged; with `--skip-damaged` also damaged records. */
  left_out: z.array(
    z.strictObject({
      table: z.string(),
      id: z.string(),
      reason: z.enum(["deleted", "damaged", "orphaned"]),
      fault: z.string(),
    }),
  ),
});
export type BackupManifest = z.output<typeof manifest>;

const signature = z.strictObject({ public_key: sha256Hex, signature: z.base64() });

/** Returns the bytes to sign. Their prefix distinguishes them from any artifact. */
const messageOf = (facts: unknown): Buffer => Buffer.from(`sealift hub backup\n${JSON.stringify(facts)}`);

/** Writes the manifest of a backup. @param seed of the key that signs it; undefined for an unsigned one */
export async function writeBackupManifest(
  folder: string,
  facts: BackupManifest,
  seed: Uint8Array | undefined,
): Promise<void> {
  const signed = seed === undefined ? {} : { signed: signatureOf(facts, seed) };
  const text = `${JSON.stringify({ ...facts, ...signed }, null, 2)}\n`;
  await writeFileAtomic(join(folder, MANIFEST_FILE), text, { mode: 0o600 });
}

function signatureOf(facts: BackupManifest, seed: Uint8Array): z.output<typeof signature> {
  const publicKey = Buffer.from(publicKeyOf(seed));
  const jwk = {
    kty: "OKP",
    crv: "Ed25519",
    d: Buffer.from(seed).toString("base64url"),
    x: publicKey.toString("base64url"),
  };
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  return {
    public_key: publicKey.toString("hex"),
    signature: sign(null, messageOf(facts), key).toString("base64"),
  };
}

/** Key that must have signed a backup, or `unsigned` to skip that check. */
export type BackupTrust = Uint8Array | "unsigned";

/**
 * Reads the manifest of a backup.
 *
 * @throws UsageError `usage` when the folder holds no backup
 * @throws ArtifactError `signature_missing`, `signer_untrusted` or `signature_invalid`
 */
export async function readBackupManifest(folder: string, trust: BackupTrust): Promise<BackupManifest> {
  const none = (hint: string) =>
    usageError("usage", `The folder ${folder} holds no complete backup of a hub.`, { hint });
  const text = await ifThere(readFile(join(folder, MANIFEST_FILE), "utf8"));
  if (text === undefined) throw none(`There is no ${MANIFEST_FILE} in it.`);
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw none(`Its ${MANIFEST_FILE} is damaged.`);
  }
  const { signed, ...facts } = z.looseObject({ signed: z.unknown().optional() }).catch({}).parse(read);
  if (trust !== "unsigned") verify(folder, facts, signed, trust);
  const parsed = manifest.safeParse(facts);
  if (parsed.success) return parsed.data;
  throw none(`Its ${MANIFEST_FILE} is damaged or of another version of Sealift: ${faultsOf(parsed.error).join("; ")}.`);
}

function verify(folder: string, facts: unknown, signed: unknown, trusted: Uint8Array): void {
  if (signed === undefined)
    throw artifactError("signature_missing", `The backup in ${folder} is not signed.`, {
      hint: "Give --unsigned if nobody but you could write to it.",
    });
  const parsed = signature.safeParse(signed);
  const publicKey = Buffer.from(parsed.data?.public_key ?? "", "hex");
  const bytes = Buffer.from(parsed.data?.signature ?? "", "base64");
  if (parsed.success && !equalBytes(publicKey, trusted))
    throw artifactError(
      "signer_untrusted",
      `The backup in ${folder} is signed by another key: ${parsed.data.public_key}.`,
    );
  if (!new Ed25519Verifier(trusted, bytes).update(messageOf(facts)).verify())
    throw artifactError("signature_invalid", `The manifest of the backup in ${folder} is not what was signed.`);
}
