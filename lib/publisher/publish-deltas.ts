import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type IndexedTree, type OpenIndex, openIndex, writeIndex } from "../artifact/delta/index-file.ts";
import { makeDelta } from "../artifact/delta/make-delta.ts";
import { writeOpeningKeys } from "../artifact/delta/open-file.ts";
import type { Limits } from "../artifact/limits.ts";
import type { SourceProject } from "../artifact/project/project-tree.ts";
import type { SealedArtifact } from "../artifact/project/seal.ts";
import { downloadIndex, publishDelta, publishIndex, type PublishTarget } from "../client/publish-client.ts";
import { isAbort, SealiftError } from "../contract/errors.ts";
import type { DeltaFields, IndexedVersions } from "../contract/surfaces/deploy.ts";
import { syncFolder } from "../support/files.ts";

/** Event of the steps after a version has become visible; a publication is complete without them. */
export type DeltaEvent =
  | { event: "index.done"; version: string }
  | { event: "delta.done"; base_version: string; bytes: number; artifact_bytes: number }
  | { event: "delta.skipped"; base_version: string; reason: string }
  | { event: "warning"; message: string };

/** Earlier versions from which deltas are made. */
export type DeltaBases =
  /** Number of versions: those that most hosts run, and the last one. */
  | { count: number }
  /** Listed versions. */
  | { versions: readonly string[] };

export interface PublishDeltasOptions {
  target: PublishTarget;
  project: SourceProject;
  /** Full artifact. */
  artifact: SealedArtifact;
  /** Settles when the artifact is visible, or will not be. Until then nothing is sent. */
  visible: Promise<unknown>;
  /** Versions before this one, as the hub listed them. */
  earlier: IndexedVersions;
  bases: DeltaBases;
  seed: Uint8Array;
  level: number;
  limits: Limits;
  /** Private folder for intermediate files. The caller removes it. */
  folder: string;
  /** Path at which the artifact is kept: index and deltas stay beside it (docs/contract/delta.md). */
  keptAs?: string;
  signal: AbortSignal;
  emit: (event: DeltaEvent) => void;
}

/** Options of making deltas. */
type MakeDeltasOptions = Omit<PublishDeltasOptions, "visible">;

/** Delta that hosts may now use, or could. */
export interface PublishedDelta {
  base_version: string;
  /** Size of the sealed delta, in bytes. */
  bytes: number;
}

/**
 * Stores the index of a version once it is visible, and publishes deltas to it from earlier ones. Each is made while
 * the previous one is sent. Failures are warnings: hosts then take the full artifact, and the next publication makes
 * its deltas from an older base.
 *
 * @throws the rejection of `visible`; AbortError
 */
export async function publishDeltas(options: PublishDeltasOptions): Promise<PublishedDelta[]> {
  const { target, project, artifact, keptAs, visible, emit } = options;
  const { version } = project.manifest;
  const published: PublishedDelta[] = [];
  const indexed = makeIndex(options);
  indexed.catch(() => {});
  let sending = visible.then(() =>
    attempt(`The index of ${version} was not stored`, emit, async () => {
      await unlessThere(publishIndex(target, version, await indexed));
      emit({ event: "index.done", version });
    }),
  );
  sending.catch(() => {});
  try {
    // One after the other: both at the same time would only take more memory.
    await indexed.catch(() => {});
    for await (const { delta, base, folder } of makeDeltas(options)) {
      await sending;
      sending = attempt(`No delta from ${base.version} was made`, emit, async () => {
        try {
          if (keptAs !== undefined) await writeOpeningKeys(delta);
          await unlessThere(publishDelta(target, version, fieldsOf(delta, base), delta.path));
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
        published.push({ base_version: base.version, bytes: delta.size });
        emit({ event: "delta.done", base_version: base.version, bytes: delta.size, artifact_bytes: artifact.size });
      });
      sending.catch(() => {});
    }
  } finally {
    await Promise.allSettled([indexed, sending]);
  }
  await sending;
  if (keptAs !== undefined) await syncFolder(dirname(keptAs));
  return published;
}

/** Accepts that an earlier run of this publication has already stored it: other bytes, but the same content. */
async function unlessThere(sending: Promise<unknown>): Promise<void> {
  try {
    await sending;
  } catch (error) {
    if (!(error instanceof SealiftError) || error.status !== 409 || error.hubCode !== "version_exists") throw error;
  }
}

function fieldsOf(delta: SealedArtifact, base: IndexedTree): DeltaFields {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  return {
    base_version: base.version,
    base_content_sha256: base.contentSha256,
    dek: base64(delta.dek),
    signature: base64(delta.signature),
    signer_public_key: base64(delta.signerPublicKey),
  };
}

/** Makes the deltas that a publication would send, and keeps none of them. */
export async function sizeDeltas(options: MakeDeltasOptions): Promise<PublishedDelta[]> {
  const made: PublishedDelta[] = [];
  for await (const { delta, base, folder } of makeDeltas(options)) {
    made.push({ base_version: base.version, bytes: delta.size });
    await rm(folder, { recursive: true, force: true });
  }
  return made;
}

/** Chooses the earlier versions from which deltas are made. Pure. */
export function chooseBases(earlier: IndexedVersions, bases: DeltaBases, version: string): string[] {
  const others = earlier.filter((candidate) => candidate.version !== version);
  if ("versions" in bases) return bases.versions.filter((wanted) => others.some(({ version: v }) => v === wanted));
  const inUse = others.filter(({ hosts }) => hosts > 0);
  const [newestUnused, ...rest] = others.filter(({ hosts }) => hosts === 0);
  // Hosts that are slow or do not report may run the last version, so it is always included.
  const last = newestUnused === undefined || bases.count === 0 ? [] : [newestUnused];
  return [...inUse.slice(0, bases.count - last.length), ...last, ...rest]
    .slice(0, bases.count)
    .map(({ version: v }) => v);
}

/** Makes the index of the version. @returns its file */
async function makeIndex({ project, seed, folder, keptAs }: MakeDeltasOptions): Promise<string> {
  const { project_id: projectId, version, content_sha256: contentSha256 } = project.manifest;
  const file = keptAs === undefined ? join(folder, "index") : await freed(`${keptAs}.index`);
  await writeIndex(file, { projectId, version, contentSha256 }, project.entries, seed);
  return file;
}

/** Delta ready to be sent, and the folder of its own that it needs until then. */
interface MadeDelta {
  delta: SealedArtifact;
  base: IndexedTree;
  folder: string;
}

/** Makes a delta from each base for which it is worthwhile. */
async function* makeDeltas(options: MakeDeltasOptions): AsyncGenerator<MadeDelta> {
  const { earlier, bases, project, emit } = options;
  const chosen = chooseBases(earlier, bases, project.manifest.version);
  for (const asked of "versions" in bases ? bases.versions : [])
    if (!chosen.includes(asked))
      emit({
        event: "delta.skipped",
        base_version: asked,
        reason: "the hub has no index of an earlier version of this name",
      });
  for (const version of chosen) {
    const folder = await mkdtemp(join(options.folder, "delta-"));
    const made = await attempt(`No delta from ${version} was made`, emit, async () => {
      const base = await fetchIndex(version, folder, options);
      const delta = await makeDeltaFrom(base, folder, options);
      if (delta !== undefined) return { delta, base: base.tree, folder };
      const reason = "it would not be much smaller than the full artifact";
      emit({ event: "delta.skipped", base_version: version, reason });
      return undefined;
    });
    if (made === undefined) await rm(folder, { recursive: true, force: true });
    else yield made;
  }
}

async function fetchIndex(
  version: string,
  folder: string,
  { target, seed, project, limits }: MakeDeltasOptions,
): Promise<OpenIndex> {
  const sealed = join(folder, "base-index");
  await downloadIndex(target, version, sealed);
  const { project_id: projectId } = project.manifest;
  return openIndex(sealed, join(folder, "base-index.plain"), seed, { projectId, version }, limits);
}

async function makeDeltaFrom(
  base: OpenIndex,
  folder: string,
  { project, artifact, seed, level, limits, keptAs, signal }: MakeDeltasOptions,
): Promise<SealedArtifact | undefined> {
  const output =
    keptAs === undefined ? join(folder, "delta.xdeploy") : await freed(`${keptAs}.from-${base.tree.version}`);
  return makeDelta({
    ...{ project, base, work: join(folder, "work"), output, artifactBytes: artifact.size },
    ...{ seed, level, durable: keptAs !== undefined, limits, signal },
  });
}

/** Removes a file left by an earlier artifact of the same name, whose own file is new. @returns the path */
async function freed(path: string): Promise<string> {
  await rm(path, { force: true });
  return path;
}

/** Runs a step whose failure only costs hosts bandwidth. A signal ends it. @returns undefined if it failed */
async function attempt<T>(
  what: string,
  emit: PublishDeltasOptions["emit"],
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    if (isAbort(error)) throw error;
    const why = error instanceof SealiftError || error instanceof Error ? error.message : String(error);
    emit({ event: "warning", message: `${what}: ${why}` });
    return undefined;
  }
}
