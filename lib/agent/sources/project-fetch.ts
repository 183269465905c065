import { createHash, type Hash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { MAX_PLAINTEXT_BYTES, NONCE_BYTES, TAG_BYTES } from "../../artifact/limits.ts";
import { openArtifact } from "../../artifact/project/open.ts";
import type { DeployClient } from "../../client/deploy-client.ts";
import { asSealiftError } from "../../contract/errors.ts";
import type { HubLocation } from "../../contract/surfaces/deploy.ts";
import { type FetchedAhead, sealedAhead } from "../../releases/ahead.ts";
import { type Emit, throttled } from "../base/events.ts";
import { keptBytes, type KeptDownload } from "./kept-download.ts";
import type { RunMirrors } from "./mirrors.ts";
import type { VerifiedTree } from "./project-delta.ts";
import type { FetchContext } from "./source.ts";

/** Maximum size of a sealed artifact, in bytes. */
export const MAX_SEALED_BYTES = MAX_PLAINTEXT_BYTES + NONCE_BYTES + TAG_BYTES;

/** Origin of a project's versions: surface B of a hub, or a kit. */
export type ProjectOrigin = Pick<DeployClient, "authenticate" | "latestVersion" | "locate" | "authorize" | "download">;

/** Located version, and the origin that located it. */
export interface Located {
  client: ProjectOrigin;
  version: string;
  location: HubLocation;
}

interface Options {
  projectId: string;
  deploymentCredential: string;
  delta?: boolean;
}

/** Fetch of a located version. */
interface Fetching {
  options: Options;
  located: Located;
  /** Trusted key. */
  signer: Uint8Array;
  /** Folder in which the tree is built. */
  tree: string;
  mirrors: RunMirrors;
  context: FetchContext;
  /** Bytes that this host already has, perhaps of another version. */
  ahead: FetchedAhead | undefined;
  /** Bytes that outlive an interruption; undefined for a run that keeps nothing. */
  kept: KeptDownload | undefined;
}

/** A verified tree, with the digest of its artifact where that was measured. */
interface FetchedTree extends VerifiedTree {
  artifactSha256?: string;
}

/** Makes the verified tree of a version: by a delta where one fits, else of the full artifact. */
export const fetchTree = async (fetching: Fetching): Promise<FetchedTree> =>
  (fetching.context.measuresArtifact === true ? undefined : await tryDelta(fetching)) ?? (await fetchFull(fetching));

export const loadPlanParser = () => import("../base/documents.ts");

/** Streams the sealed bytes with a signature: those fetched ahead, else those of a mirror or of the hub. */
function sealedBytes(
  { located: { client, version, location }, mirrors, context: { layout, target, emit }, ahead, kept: own }: Fetching,
  { signature, size_bytes: expectedBytes }: Pick<HubLocation, "signature" | "size_bytes">,
  progress: ReturnType<typeof fetchProgress>,
  at?: (location: HubLocation) => string,
): AsyncIterable<Buffer> {
  if (ahead?.signature !== signature) {
    // The tree of a delta is made after its bytes have come.
    const unpacksLater = at === undefined ? undefined : location.size_bytes;
    const kept = own?.for({ signature, unpacksLater, isWritten: false });
    return client.download(version, location, { ...progress.download, mirrors, expectedBytes, kept }, at);
  }
  emit({ event: "ahead.used", version, bytes: ahead.bytes });
  return sealedAhead(layout, target);
}

/** The full artifact. Sealed bytes of this host that do not hold are left alone, and those of the hub are taken. */
async function fetchFull(fetching: Fetching): Promise<FetchedTree> {
  const { located, tree, context, ahead } = fetching;
  const { version, location } = located;
  const { emit, signal } = context;
  if (ahead?.signature !== location.signature) return openFull(fetching);
  let isAuthorized = false;
  try {
    return await openFull(fetching, () => (isAuthorized = true));
  } catch (thrown) {
    const { code, message: reason } = asSealiftError(thrown, "ArtifactError");
    // Without the key the bytes were not judged; and another download would only fill a full disk further.
    if (signal.aborted || !isAuthorized || code === "disk_full") throw thrown;
    emit({ event: "ahead.unusable", version, code, reason });
    await rm(tree, { recursive: true, force: true });
    return openFull({ ...fetching, ahead: undefined });
  }
}

async function openFull(fetching: Fetching, onAuthorized?: () => void): Promise<FetchedTree> {
  const { options, located, signer, tree, mirrors, context, kept } = fetching;
  const { client, location } = located;
  const { emit, signal, limits } = context;
  const progress = fetchProgress(emit, location.size_bytes ?? null, kept);
  // The thread that unpacks starts while the key is awaited.
  const dek = client.authorize(options.deploymentCredential, location.signature).then((key) => {
    emit({ event: "authorize.ok" });
    onAuthorized?.();
    progress.start();
    return key;
  });
  mirrors.needs(dek);
  // While it waits for answers, this thread loads the YAML parser.
  loadPlanParser().catch(() => undefined);
  let hash: Hash | undefined;
  const attempt = async (onVerified: () => void) => {
    await mkdir(tree, { mode: 0o700 });
    hash = context.measuresArtifact === true ? createHash("sha256") : undefined;
    const bytes = sealedBytes(fetching, location, progress);
    return openArtifact(hash === undefined ? bytes : hashed(bytes, hash), {
      dek,
      signature: Buffer.from(location.signature, "base64"),
      signerPublicKey: signer,
      staging: tree,
      limits,
      signal,
      onUnpacked: progress.unpacked,
      onVerified,
    });
  };
  const opened = await mirrors.fetch(tree, attempt, kept);
  progress.done(opened);
  return hash === undefined ? opened : { ...opened, artifactSha256: hash.digest("hex") };
}

async function* hashed(bytes: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}

/** Chooses the delta to fetch, if one fits and deltas are enabled. Loaded only when needed. */
export async function deltaOf(
  { delta }: Pick<Options, "delta">,
  location: HubLocation,
  signer: Uint8Array,
  context: Pick<FetchContext, "layout" | "target" | "emit">,
) {
  if (delta === false || location.deltas === undefined) return undefined;
  const { addressIn, chooseDelta, fetchDelta } = await import("./project-delta.ts");
  const chosen = await chooseDelta(context, location, signer);
  return chosen && { chosen, addressIn, fetchDelta };
}

/** Completes the tree from a delta. Returns undefined without one, or on any fault of it: an event says why. */
async function tryDelta(fetching: Fetching): Promise<VerifiedTree | undefined> {
  const { options, located, signer, tree, mirrors, context, ahead, kept } = fetching;
  const { client, version, location } = located;
  const { emit, signal } = context;
  if (ahead?.signature === location.signature) return undefined;
  // It was begun because no delta was of use.
  if ((await kept?.signature()) === location.signature) return undefined;
  const found = await deltaOf(options, location, signer, context);
  if (found === undefined) return undefined;
  const { chosen, addressIn, fetchDelta } = found;
  const { delta } = chosen;
  const { base_version, size_bytes, signature } = delta;
  emit({ event: "delta.chosen", base_version, size_bytes, full_size_bytes: location.size_bytes ?? null });
  try {
    const dek = client.authorize(options.deploymentCredential, signature).then((key) => {
      emit({ event: "authorize.ok" });
      return key;
    });
    mirrors.needs(dek);
    const progress = fetchProgress(emit, size_bytes, kept);
    progress.start();
    const opened = await mirrors.fetch(
      tree,
      (onVerified) =>
        fetchDelta(
          chosen,
          { projectId: options.projectId, version, contentSha256: location.content_sha256 },
          tree,
          {
            dek,
            bytes: () => sealedBytes(fetching, delta, progress, (location) => addressIn(location, delta)),
            open: { signerPublicKey: signer, onUnpacked: progress.unpacked, onVerified },
          },
          context,
        ),
      kept,
    );
    progress.done(opened);
    return opened;
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    const { code, message: reason } = asSealiftError(thrown, "ArtifactError");
    // The full artifact would only fill a full disk further.
    if (code === "disk_full") throw thrown;
    emit({ event: "delta.failed", base_version, code, reason });
    await rm(tree, { recursive: true, force: true });
    return undefined;
  }
}

/** Reports the progress of a download: bytes received, and bytes of files unpacked. */
function fetchProgress(emit: Emit, expectedBytes: number | null, kept: KeptDownload | undefined) {
  let bytes = 0;
  let size = expectedBytes;
  let unpackedBytes = 0;
  const tell = throttled(emit, () => ({
    event: "fetch.progress",
    bytes,
    size_bytes: size,
    unpacked_bytes: unpackedBytes,
  }));
  return {
    start: () => emit({ event: "fetch.started", size_bytes: expectedBytes }),
    download: {
      maxBytes: MAX_SEALED_BYTES,
      onReceived: (received: number, total: number | undefined) => {
        bytes = received;
        size ??= total ?? null;
        tell();
      },
      onResumed: (received: number, reason: string) => emit({ event: "fetch.resumed", bytes: received, reason }),
    },
    unpacked: (unpacked: number) => {
      unpackedBytes = unpacked;
      tell();
    },
    done: ({ files, bytes: unpacked }: Pick<VerifiedTree, "files" | "bytes">) =>
      emit({ event: "fetch.done", bytes, files, unpacked_bytes: unpacked, ...keptBytes(kept) }),
  };
}
