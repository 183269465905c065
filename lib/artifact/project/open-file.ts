import { createReadStream } from "node:fs";
import { mkdtemp, open, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import * as z from "zod";
import { artifactError, usageError } from "../../contract/errors.ts";
import type { Manifest } from "../../contract/files/manifest.ts";
import { base64Of } from "../../contract/surfaces/deploy.ts";
import { writeFileAtomic } from "../../support/files.ts";
import { DEK_BYTES, type Limits } from "../limits.ts";
import { Ed25519Verifier, readChunks } from "../signatures/ed25519.ts";
import { openArtifact } from "./open.ts";
import type { SealedArtifact } from "./seal.ts";

/** The keys that open an artifact kept with `--output`: `FILE.json`, mode 0600. */
const openingKeys = z.object({ dek: base64Of(32), signature: base64Of(64), signer_public_key: base64Of(32) });

const keysFile = (file: string): string => `${file}.json`;

/** Writes `FILE.json` beside a kept artifact. It holds the DEK: 0600. */
export async function writeOpeningKeys(artifact: SealedArtifact): Promise<void> {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  const keys: z.output<typeof openingKeys> = {
    dek: base64(artifact.dek),
    signature: base64(artifact.signature),
    signer_public_key: base64(artifact.signerPublicKey),
  };
  await writeFileAtomic(keysFile(artifact.path), `${JSON.stringify(keys)}\n`, { mode: 0o600 });
}

export interface OpeningKeys {
  signature: Uint8Array;
  dek?: Uint8Array;
}

/** The signature and the key of an artifact file, from options or from `FILE.json`. @throws UsageError */
export async function readOpeningKeys(
  file: string,
  given: { signature?: string | undefined; dekFile?: string | undefined },
): Promise<OpeningKeys> {
  const stored = openingKeys.safeParse(
    await readFile(keysFile(file), "utf8")
      .then((text) => JSON.parse(text) as unknown)
      .catch(() => undefined),
  ).data;
  const signature = given.signature === undefined ? stored?.signature : base64Of(64).safeParse(given.signature).data;
  if (signature === undefined) {
    throw usageError(
      "usage",
      given.signature === undefined
        ? `There is no ${keysFile(file)}, and no --signature.`
        : "--signature is not the base64 of 64 bytes.",
    );
  }
  const dek = given.dekFile === undefined ? stored && Buffer.from(stored.dek, "base64") : await readDek(given.dekFile);
  return { signature: Buffer.from(signature, "base64"), ...(dek !== undefined && { dek }) };
}

async function readDek(path: string): Promise<Uint8Array> {
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError("credential_unreadable", `--dek-file cannot be read: ${error.message}.`, { cause: error });
  });
  if (content.length === DEK_BYTES) return content;
  const text = content.toString("latin1").trim();
  const dek = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
  if (dek.length === DEK_BYTES) return dek;
  throw usageError("key_file_invalid", "--dek-file holds no key of 32 bytes in raw, hex or base64 form.");
}

export interface OpenFileOptions extends OpeningKeys {
  signerPublicKey: Uint8Array;
  limits: Limits;
  signal: AbortSignal;
  /** A new folder for the tree; without it the tree is verified and removed. */
  out?: string;
}

/**
 * Opens an artifact file offline: all checks of a deployment, no hub.
 *
 * @throws ArtifactError `signature_invalid` and the other checks; UsageError
 */
export async function openFile(
  file: string,
  options: OpenFileOptions,
): Promise<{ manifest: Manifest | null; files: number; bytes: number }> {
  const { dek, signature, signerPublicKey, limits, signal, out } = options;
  if (dek === undefined) {
    if (out !== undefined) throw usageError("usage", `Unpacking needs the key: ${keysFile(file)} or --dek-file.`);
    await verifyOnly(file, signature, signerPublicKey, signal);
    return { manifest: null, files: 0, bytes: 0 };
  }
  const staging = await mkdtemp(
    out === undefined ? join(tmpdir(), "sealift-open-") : join(dirname(resolve(out)), `.${basename(out)}-`),
  );
  try {
    const { manifest, files, bytes } = await openArtifact(createReadStream(file), {
      dek,
      signature,
      signerPublicKey,
      staging,
      limits,
      signal,
    });
    if (out !== undefined) await rename(staging, out);
    return { manifest, files, bytes };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR")
      throw usageError("usage", `--out ${out} exists already.`);
    throw missing(error, file);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function verifyOnly(
  path: string,
  signature: Uint8Array,
  publicKey: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  await using file = await open(path).catch((error: unknown) => Promise.reject(missing(error, path) as Error));
  const verifier = new Ed25519Verifier(publicKey, signature);
  for await (const chunk of readChunks(file, signal)) verifier.update(chunk);
  if (!verifier.verify()) throw artifactError("signature_invalid", `The signature does not verify over ${path}.`);
}

const missing = (error: unknown, file: string): unknown =>
  (error as NodeJS.ErrnoException).code === "ENOENT"
    ? usageError("usage", `${file} cannot be read: there is no such file.`)
    : error;
