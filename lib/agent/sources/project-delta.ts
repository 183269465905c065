import { rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type ExpectedVersion, openDelta } from "../../artifact/delta/open-delta.ts";
import type { OpenOptions } from "../../artifact/project/open.ts";
import { equalBytes } from "../../artifact/signatures/ed25519.ts";
import type { TreeListing } from "../../artifact/tree/tree-listing.ts";
import type { Manifest } from "../../contract/files/manifest.ts";
import { type DeltaLocation, deltaLocations, type HubLocation } from "../../contract/surfaces/deploy.ts";
import type { Release } from "../../releases/release.ts";
import { baseTree, deltaBases } from "../../releases/source-tree.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import type { FetchContext } from "./source.ts";

/** Delta that the hub offers, and the local release that it completes. */
export interface ChosenDelta {
  delta: DeltaLocation;
  base: Release;
}

/**
 * Chooses the smallest delta whose base this host keeps. Skips those that another key has signed, which would only
 * fail.
 *
 * @param signer trusted key
 */
export async function chooseDelta(
  { layout, target, emit }: Pick<FetchContext, "layout" | "target" | "emit">,
  { deltas, size_bytes: full = Infinity }: Pick<HubLocation, "deltas" | "size_bytes">,
  signer: Uint8Array,
): Promise<ChosenDelta | undefined> {
  const offered = safelyParsed(deltaLocations, deltas, { reportInput: true });
  if (!offered.success) {
    // Deltas are optional: a faulty description must not prevent the full artifact.
    const why = faultsOf(offered.error).slice(0, 3).join("; ");
    emit({ event: "warning", message: `What the hub says of deltas cannot be read and is ignored: ${why}.` });
    return undefined;
  }
  const usable = offered.data
    .filter((delta) => delta.size_bytes < full)
    .filter((delta) => equalBytes(Buffer.from(delta.signer_public_key, "base64"), signer))
    .toSorted((a, b) => a.size_bytes - b.size_bytes);
  if (usable.length === 0) return undefined;
  const bases = await deltaBases(layout, target);
  for (const delta of usable) {
    const base = bases.find(
      ({ version, content_sha256 }) => version === delta.base_version && content_sha256 === delta.base_content_sha256,
    );
    if (base !== undefined) return { delta, base };
  }
  return undefined;
}

/** Finds the address of a delta in another answer of the hub. */
export const addressIn = (
  { deltas }: Pick<HubLocation, "deltas">,
  { signature, download_url }: DeltaLocation,
): string =>
  safelyParsed(deltaLocations, deltas).data?.find((other) => other.signature === signature)?.download_url ??
  download_url;

/** Verified tree in staging. */
export interface VerifiedTree {
  manifest: Manifest;
  files: number;
  /** Total size of its files, in bytes. */
  bytes: number;
  /** Tree without its manifest. */
  listing: TreeListing;
}

/** Source of a delta's bytes: the agent's own client, with progress events as for a full artifact. */
export interface DeltaDownload {
  dek: Promise<Uint8Array>;
  open: Pick<OpenOptions, "signerPublicKey" | "onUnpacked" | "onVerified">;
  bytes: () => AsyncIterable<Buffer>;
}

/**
 * Downloads a delta and completes the tree of the new version in `tree`.
 *
 * @throws ArtifactError on any fault: the caller then fetches the full artifact
 */
export async function fetchDelta(
  { delta, base }: ChosenDelta,
  expected: ExpectedVersion,
  tree: string,
  { dek, open, bytes }: DeltaDownload,
  context: FetchContext,
): Promise<VerifiedTree> {
  const { layout, target, staging, limits, signal } = context;
  // The list of the base is read while the hub answers and the delta arrives.
  const whole = baseTree(layout, target, base).then((found) => {
    if (found === undefined) throw new Error(`the release of ${base.version} is gone`);
    return found;
  });
  whole.catch(() => {});
  const unpacked = join(staging, "delta");
  await mkdir(unpacked, { mode: 0o700 });
  try {
    return await openDelta(bytes(), {
      ...open,
      dek,
      signature: Buffer.from(delta.signature, "base64"),
      staging: unpacked,
      output: tree,
      base: whole,
      expected,
      limits,
      signal,
    });
  } finally {
    // Synchronous: for each small file, two round trips to the thread pool take longer than removing it.
    rmSync(unpacked, { recursive: true, force: true });
  }
}
