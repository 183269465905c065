import { createReadStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, open, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import * as z from "zod";
import { artifactError, type SealiftError, usageError } from "../../contract/errors.ts";
import { type Manifest, MANIFEST_FILE } from "../../contract/files/manifest.ts";
import { base64Of } from "../../contract/identifiers.ts";
import { JSON_LIMITS } from "../../support/documents/limits.ts";
import { missing, readFault, readKeyFile, readTextFile, writeFileAtomic } from "../../support/files.ts";
import { readChunks } from "../../support/read-chunks.ts";
import { DEK_BYTES, type Limits } from "../limits.ts";
import { openArtifact, readManifest } from "../project/open.ts";
import type { SealedArtifact } from "../project/seal.ts";
import { Ed25519Verifier } from "../signatures/ed25519.ts";
import { listSourceTree, NEVER_PACKED } from "../tree/source-tree.ts";
import { indexTree } from "../tree/tree-index.ts";
import { scanZip } from "../zip/directory.ts";
import {
  DELTA_FILE,
  type DeltaHeader,
  deltaInvalid,
  eachPiece,
  parseHeader,
  parseLine,
  readDeltaLines,
} from "./delta-lines.ts";
import { openDelta } from "./open-delta.ts";
import type { BaseTree } from "./plan-tree.ts";

/** Keys that open an artifact kept with `--output`: `FILE.json`, mode 0600. */
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

/** Reads the signature and the key of an artifact file from options or from `FILE.json`. @throws UsageError */
export async function readOpeningKeys(
  file: string,
  given: { signature?: string | undefined; dekFile?: string | undefined },
): Promise<OpeningKeys> {
  const stored = openingKeys.safeParse(
    await readTextFile(keysFile(file), JSON_LIMITS.maxBytes)
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
      { hint: "`deploy-publish --out` writes that file. The signature of a ZIP is the hub's X-Signature-Ed25519." },
    );
  }
  const dek = given.dekFile === undefined ? stored && Buffer.from(stored.dek, "base64") : await readDek(given.dekFile);
  return { signature: Buffer.from(signature, "base64"), ...(dek !== undefined && { dek }) };
}

async function readDek(path: string): Promise<Uint8Array> {
  const content = await readKeyFile(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError("credential_unreadable", `--dek-file ${path} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Check the path.",
    });
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
  /** New folder for the tree; without it the tree is verified and removed. */
  out?: string;
  /** Tree that a delta was made for, as left by this function, from which the delta is completed. */
  base?: string;
}

/** Changes in an unpacked delta, for people to read. */
interface DeltaFacts {
  base: DeltaHeader["base"];
  /** Number of files that it writes. */
  written: number;
  /** Number of base paths that it removes. */
  dropped: number;
  /** Bytes that the base does not have. */
  new_bytes: number;
}

/** Content of an artifact file; without a key all that is known is that its signature verifies. */
export interface OpenedFile {
  /** `zip` for a plugin or service, which is not encrypted. */
  format: "artifact" | "zip";
  manifest: Manifest | null;
  files: number;
  /** Total size of all files, in bytes. */
  bytes: number;
  /** Changes of a delta; null for an artifact. */
  delta: DeltaFacts | null;
}

/**
 * Opens an artifact file offline, with all checks of a deployment. Checks the tree of a delta when `base` is given.
 *
 * @throws ArtifactError `signature_invalid` and the other checks; UsageError
 */
export async function openFile(file: string, options: OpenFileOptions): Promise<OpenedFile> {
  const { dek, signature, signerPublicKey, signal, out, base } = options;
  const stats = await stat(file).catch((error: unknown) => Promise.reject(unreadable(error, file) as Error));
  if (!stats.isFile()) throw usageError("usage", `${file} is not a file.`);
  if (dek === undefined && (await isZip(file))) return openZip(file, options);
  if (dek === undefined) {
    if (out !== undefined || base !== undefined)
      throw usageError("usage", `Unpacking needs the key: ${keysFile(file)} or --dek-file.`);
    await verifyOnly(file, signature, signerPublicKey, signal);
    return { format: "artifact", manifest: null, files: 0, bytes: 0, delta: null };
  }
  const folder = await mkdtemp(
    out === undefined ? join(tmpdir(), "sealift-open-") : join(dirname(resolve(out)), `.${basename(out)}-`),
  );
  try {
    const tree = join(folder, "tree");
    const open = { ...options, dek, staging: join(folder, "unpacked") };
    await mkdir(open.staging, { mode: 0o700 });
    const found = base === undefined ? await openWhole(file, open) : await openWithBase(file, { ...open, base, tree });
    if (out !== undefined) await rename(base === undefined ? open.staging : tree, out);
    return found;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOTDIR")
      throw usageError("usage", `--out ${out} exists already.`);
    throw unreadable(error, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** First bytes of a ZIP, and of one without members. */
const ZIP_STARTS = ["504b0304", "504b0506"];

async function isZip(path: string): Promise<boolean> {
  await using file = await open(path).catch((error: unknown) => Promise.reject(unreadable(error, path) as Error));
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
  return ZIP_STARTS.includes(buffer.toString("hex", 0, bytesRead));
}

/** Verifies the author's signature of a ZIP, then the ZIP as a whole. */
async function openZip(file: string, options: OpenFileOptions): Promise<OpenedFile> {
  const { signature, signerPublicKey, signal, out, base, limits } = options;
  if (out !== undefined || base !== undefined)
    throw usageError("usage", `${file} is a ZIP: --out and --base are for the artifacts of projects.`);
  await verifyOnly(file, signature, signerPublicKey, signal);
  const { files, bytes } = await scanZip(file, { limits, symlinks: "skip" });
  return { format: "zip", manifest: null, files: files.length, bytes, delta: null };
}

type Opening = OpenFileOptions & { dek: Uint8Array; staging: string };

async function openWhole(file: string, options: Opening): Promise<OpenedFile> {
  const { staging, out } = options;
  try {
    const { manifest, files, bytes } = await openArtifact(createReadStream(file), options);
    return { format: "artifact", manifest, files, bytes, delta: null };
  } catch (error) {
    // Signature, tag and manifest of a delta are valid, too; its tree differs from the manifest's until it is
    // completed.
    const delta = (error as SealiftError).code === "digest_mismatch" ? await describeDelta(staging) : undefined;
    if (delta === undefined) throw error;
    if (out !== undefined)
      throw usageError("usage", `${file} is a delta: --out needs --base, the tree of ${delta.base.version}.`);
    return { format: "artifact", manifest: await readManifest(staging), files: 0, bytes: 0, delta };
  }
}

async function openWithBase(file: string, options: Opening & { base: string; tree: string }): Promise<OpenedFile> {
  const { staging, tree } = options;
  const base = await readBaseFolder(options.base, options);
  const { manifest, files, bytes } = await openDelta(createReadStream(file), { ...options, output: tree, base });
  return { format: "artifact", manifest, files, bytes, delta: (await describeDelta(staging)) ?? null };
}

/**
 * Reads a tree that `sealift open --out` left, as the base of a delta. Hashes all of it and compares it with its
 * manifest.
 *
 * @throws UsageError `usage` for a folder without a manifest; ArtifactError `manifest_invalid`, `delta_base_changed`
 */
async function readBaseFolder(root: string, options: { limits: Limits; signal?: AbortSignal }): Promise<BaseTree> {
  if (!existsSync(join(root, MANIFEST_FILE)))
    throw usageError("usage", `--base ${root} has no ${MANIFEST_FILE}.`, {
      hint: "Give the tree of an earlier version, as `sealift open --out` leaves it.",
    });
  const { version, content_sha256: contentSha256 } = await readManifest(root);
  // An unpacked tree holds what its publisher chose to pack, under whatever name.
  const tree = listSourceTree(root, { limits: options.limits, include: NEVER_PACKED });
  const { files, emptyFolders } = await indexTree(tree, { chunks: false, signal: options.signal });
  if (files.digest() !== contentSha256)
    throw artifactError(
      "delta_base_changed",
      `--base ${root} is not the tree of ${version} that its manifest describes.`,
      {
        hint: "Unpack the full artifact of that version again.",
      },
    );
  return { version, contentSha256, files, emptyFolders, pathOf: (file) => join(root, files.pathAt(file)) };
}

/**
 * Reads the lines of an unpacked and verified delta, without applying them.
 *
 * @returns undefined for a tree without such lines, which is not a delta
 * @throws ArtifactError `delta_invalid` for malformed lines
 */
async function describeDelta(folder: string): Promise<DeltaFacts | undefined> {
  if (!existsSync(join(folder, DELTA_FILE))) return undefined;
  let facts: DeltaFacts | undefined;
  let number = 0;
  for await (const text of readDeltaLines(folder)) {
    if (++number === 1) facts = { base: parseHeader(text).base, written: 0, dropped: 0, new_bytes: 0 };
    else countLine(facts!, parseLine(text, number));
  }
  if (facts === undefined) throw deltaInvalid("it is empty");
  return facts;
}

function countLine(facts: DeltaFacts, line: ReturnType<typeof parseLine>): void {
  if ("drop" in line) facts.dropped++;
  if (!("put" in line)) return;
  facts.written++;
  const { size, member, pieces } = line;
  if (pieces !== undefined) for (const { length, isNew } of eachPiece(pieces)) facts.new_bytes += isNew ? length : 0;
  else if (member !== undefined) facts.new_bytes += size;
}

async function verifyOnly(
  path: string,
  signature: Uint8Array,
  publicKey: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  await using file = await open(path).catch((error: unknown) => Promise.reject(unreadable(error, path) as Error));
  const verifier = new Ed25519Verifier(publicKey, signature);
  for await (const chunk of readChunks(file, signal)) verifier.update(chunk);
  if (!verifier.verify()) throw artifactError("signature_invalid", `The signature does not verify over ${path}.`);
}

const unreadable = (error: unknown, file: string): unknown =>
  missing(error) ? usageError("usage", `${file} cannot be read: there is no such file.`) : error;
