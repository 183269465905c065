import { join } from "node:path";
import { artifactError } from "../../contract/errors.ts";
import { type Manifest, manifest, MANIFEST_FILE } from "../../contract/files/manifest.ts";
import { collectGarbage, freeBuffer, paced } from "../../support/buffer-pacing.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import { JSON_LIMITS } from "../../support/documents/limits.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { parseSignedJson } from "../../support/documents/signed-json.ts";
import { readTextFile } from "../../support/files.ts";
import type { Limits } from "../limits.ts";
import { Ed25519Verifier } from "../signatures/ed25519.ts";
import { traceLane, waitingFor } from "../thread/lane-trace.ts";
import type { FileTable } from "../tree/file-table.ts";
import { OpeningCipher } from "./cipher.ts";
import { type Unpacked, Unpacker } from "./unpacker.ts";

export interface OpenOptions {
  /** DEK, or a promise of it: the unpacking thread can start before the hub has answered. */
  dek: Uint8Array | Promise<Uint8Array>;
  signature: Uint8Array;
  /** Key that the operator trusts, not merely the one in the artifact's description. */
  signerPublicKey: Uint8Array;
  /** Empty folder of mode 0700 to unpack into; the caller removes it on failure. */
  staging: string;
  limits: Limits;
  signal?: AbortSignal;
  /** Called now and then with the bytes of files unpacked so far. */
  onUnpacked?: (bytes: number) => void;
  /** Called when signature and tag are verified, before the tree's own checks. */
  onVerified?: () => void;
}

/** Size of an artifact from which freeing the garbage of the program's start is worthwhile, in bytes. */
const LARGE_BYTES = 64 * 1024 * 1024;

/**
 * Artifact with signature, tag and manifest verified. Once its digests are verified, its listing is without the
 * manifest.
 */
export interface OpenedArtifact extends Unpacked {
  manifest: Manifest;
}

/**
 * Opens an artifact in one pass: verifies, decrypts, decompresses, unpacks and hashes while its bytes arrive. Parses
 * nothing in the staging folder before signature and tag are verified; use the folder only after this returns.
 *
 * @throws ArtifactError with the codes of exit 4 (docs/contract/project-artifact.md, docs/contract/vectors.md);
 *   whatever the source throws
 */
export async function openArtifact(source: AsyncIterable<Buffer>, options: OpenOptions): Promise<OpenedArtifact> {
  await using unpacker = new Unpacker(options.staging, options.limits, options.onUnpacked);
  const opened = await unpackVerified(source, unpacker, options);
  const { files } = opened.listing;
  files.remove(MANIFEST_FILE);
  checkDigests(files, opened.manifest);
  return opened;
}

/**
 * Unpacks an artifact and checks signature, tag and manifest. The caller compares the digests of its tree: that of a
 * delta is not a release by itself (docs/contract/delta.md).
 */
export async function unpackVerified(
  source: AsyncIterable<Buffer>,
  unpacker: Unpacker,
  options: OpenOptions,
): Promise<OpenedArtifact> {
  const cipher = new OpeningCipher(await options.dek, new Ed25519Verifier(options.signerPublicKey, options.signature));
  using lane = traceLane("decrypt");
  let untilLarge = LARGE_BYTES;
  for await (const chunk of waitingFor(lane, "network", paced(source))) {
    options.signal?.throwIfAborted();
    for (const plain of cipher.update(chunk)) {
      await unpacker.write(plain, lane);
      freeBuffer(plain);
    }
    if (untilLarge > 0 && (untilLarge -= chunk.length) <= 0) collectGarbage("major");
  }
  // The second thread unpacks the rest while this one checks the signature.
  const unpacked = unpacker.end();
  unpacked.catch(() => {});
  cipher.finish();
  options.onVerified?.();
  await unpacked;
  return { ...unpacker.result(), manifest: await readManifest(options.staging) };
}

/** Reads the manifest of an unpacked tree. @throws ArtifactError `manifest_missing`, `manifest_invalid` */
export async function readManifest(staging: string): Promise<Manifest> {
  let text: string;
  try {
    text = await readTextFile(join(staging, MANIFEST_FILE), JSON_LIMITS.maxBytes);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw artifactError("manifest_invalid", `The artifact's ${MANIFEST_FILE} is not valid: ${cause.message}.`, {
        cause,
      });
    throw artifactError("manifest_missing", `The artifact has no ${MANIFEST_FILE}.`, { cause });
  }
  let value: unknown;
  try {
    value = parseSignedJson(text);
  } catch (cause) {
    throw artifactError(
      "manifest_invalid",
      `The artifact's ${MANIFEST_FILE} is not valid JSON: ${(cause as Error).message}.`,
      { cause },
    );
  }
  const result = safelyParsed(manifest, value);
  if (result.success) return result.data;
  const faults = faultsOf(result.error);
  throw artifactError("manifest_invalid", `The artifact's manifest is not valid: ${faults.join("; ")}.`, { faults });
}

interface Embedded {
  id: string;
  sha256: string | null;
  folder: string;
  what: "plugin" | "extension";
}

const embeddedItems = (found: Manifest): Embedded[] => [
  ...found.plugins
    .filter(({ source }) => source === null)
    .map(({ id, sha256 }) => ({ id, sha256, folder: `${found.plugins_dirname}/${id}`, what: "plugin" as const })),
  ...found.extensions
    .filter(({ source }) => source === null)
    .map(({ id, sha256 }) => ({ id, sha256, folder: `extensions/${id}`, what: "extension" as const })),
];

/**
 * Compares the digests of a tree, without its manifest, with those in the manifest.
 *
 * @throws ArtifactError `digest_mismatch`, `plugin_digest_mismatch`, `plugin_missing`
 */
export function checkDigests(files: FileTable, found: Manifest): void {
  const content = files.digest();
  if (content !== found.content_sha256) {
    throw artifactError(
      "digest_mismatch",
      `The tree's digest is ${content}, its manifest says ${found.content_sha256}.`,
      {
        hint: "Ask the publisher to publish a new version.",
      },
    );
  }
  for (const { folder, id, sha256, what } of embeddedItems(found)) {
    const digest = files.digestOfFolder(folder);
    if (digest === undefined)
      throw artifactError("plugin_missing", `The manifest names the ${what} ${id}, but ${folder}/ holds no file.`);
    if (sha256 !== null && digest !== sha256) {
      throw artifactError(
        "plugin_digest_mismatch",
        `The ${what} ${id} has the digest ${digest}, the manifest says ${sha256}.`,
      );
    }
  }
}
