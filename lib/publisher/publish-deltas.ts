import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type IndexedTree, type OpenIndex, openIndex, writeIndex } from "../artifact/delta/index-file.ts";
import { makeDelta } from "../artifact/delta/make-delta.ts";
import type { Limits } from "../artifact/limits.ts";
import { writeOpeningKeys } from "../artifact/project/open-file.ts";
import type { Project } from "../artifact/project/project-tree.ts";
import type { SealedArtifact } from "../artifact/project/seal.ts";
import { downloadIndex, publishDelta, publishIndex, type PublishTarget } from "../client/publish-client.ts";
import { isAbort, SealiftError } from "../contract/errors.ts";
import type { IndexedVersions } from "../contract/surfaces/deploy.ts";
import { syncFolder } from "../support/files.ts";

/** Publishes what follows once a version is visible; a publication without any of it is whole. */
export type DeltaEvent =
  | { event: "index.done"; version: string }
  | { event: "delta.done"; base_version: string; bytes: number; artifact_bytes: number }
  | { event: "delta.skipped"; base_version: string; reason: string }
  | { event: "warning"; message: string };

/** Which earlier versions deltas are made from. */
export type DeltaBases =
  /** The versions that most hosts run, and the last one: this many in all. */
  | { count: number }
  /** These versions. */
  | { versions: readonly string[] };

export interface PublishDeltasOptions {
  target: PublishTarget;
  project: Project;
  /** The full artifact; it is visible already when deltas are published. */
  artifact: SealedArtifact;
  /** Versions that were there before this one, as the hub listed them. */
  earlier: IndexedVersions;
  bases: DeltaBases;
  seed: Uint8Array;
  level: number;
  limits: Limits;
  /** A private folder for what is made on the way. */
  folder: string;
  /** The file that the artifact is kept in: index and deltas stay beside it (docs/deltas.md). */
  keptAs?: string;
  signal: AbortSignal;
  emit: (event: DeltaEvent) => void;
}

/** A delta that hosts may now take, or might. */
export interface PublishedDelta {
  base_version: string;
  /** Of the sealed delta. */
  bytes: number;
}

/**
 * Stores the index of a version that has just become visible, and publishes deltas to it from earlier ones. What fails
 * is a warning: hosts take the full artifact, and the next publication makes its deltas from an older base.
 */
export async function publishDeltas(options: PublishDeltasOptions): Promise<PublishedDelta[]> {
  const { target, project, artifact, seed, folder, keptAs, emit } = options;
  const { project_id: projectId, version, content_sha256: contentSha256 } = project.manifest;
  await attempt(`The index of ${version} was not stored`, options, async () => {
    const file = keptAs === undefined ? join(folder, "index") : await freed(`${keptAs}.index`);
    await writeIndex(file, { projectId, version, contentSha256 }, project.entries, seed);
    await publishIndex(target, version, file);
    emit({ event: "index.done", version });
  });
  const published = await makeDeltas(options, async (delta, base) => {
    if (keptAs !== undefined) await writeOpeningKeys(delta);
    const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
    const fields = {
      base_version: base.version,
      base_content_sha256: base.contentSha256,
      dek: base64(delta.dek),
      signature: base64(delta.signature),
      signer_public_key: base64(delta.signerPublicKey),
    };
    await publishDelta(target, version, fields, delta.path);
    emit({ event: "delta.done", base_version: base.version, bytes: delta.size, artifact_bytes: artifact.size });
  });
  if (keptAs !== undefined) await syncFolder(dirname(keptAs));
  return published;
}

/** Makes the deltas that a publication would send, and keeps none of them. */
export const sizeDeltas = (options: PublishDeltasOptions): Promise<PublishedDelta[]> =>
  makeDeltas(options, () => Promise.resolve());

/** The earlier versions that deltas are made from. A pure decision. */
export function chooseBases(earlier: IndexedVersions, bases: DeltaBases, version: string): string[] {
  const others = earlier.filter((candidate) => candidate.version !== version);
  if ("versions" in bases) return bases.versions.filter((wanted) => others.some(({ version: v }) => v === wanted));
  const inUse = others.filter(({ hosts }) => hosts > 0);
  const [newestUnused, ...rest] = others.filter(({ hosts }) => hosts === 0);
  // Hosts that are slow, or that do not report, may run the last version: it has a place of its own.
  const last = newestUnused === undefined || bases.count === 0 ? [] : [newestUnused];
  return [...inUse.slice(0, bases.count - last.length), ...last, ...rest]
    .slice(0, bases.count)
    .map(({ version: v }) => v);
}

/** Makes a delta from each base and hands it to `use`. @returns those that `use` was done with */
async function makeDeltas(
  options: PublishDeltasOptions,
  use: (delta: SealedArtifact, base: IndexedTree) => Promise<void>,
): Promise<PublishedDelta[]> {
  const { earlier, bases, project, emit } = options;
  const made: PublishedDelta[] = [];
  const chosen = chooseBases(earlier, bases, project.manifest.version);
  for (const asked of "versions" in bases ? bases.versions : [])
    if (!chosen.includes(asked))
      emit({
        event: "delta.skipped",
        base_version: asked,
        reason: "the hub has no index of an earlier version of this name",
      });
  for (const base of chosen) {
    await attempt(`No delta from ${base} was made`, options, async () => {
      const folder = await mkdtemp(join(options.folder, "delta-"));
      try {
        const index = await fetchIndex(base, folder, options);
        const delta = await makeDeltaFrom(index, folder, options);
        if (delta === undefined) {
          const reason = "it would not be much smaller than the full artifact";
          emit({ event: "delta.skipped", base_version: base, reason });
          return;
        }
        await use(delta, index.tree);
        made.push({ base_version: base, bytes: delta.size });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }
  return made;
}

async function fetchIndex(
  version: string,
  folder: string,
  { target, seed, project }: PublishDeltasOptions,
): Promise<OpenIndex> {
  const sealed = join(folder, "base-index");
  await downloadIndex(target, version, sealed);
  const { project_id: projectId } = project.manifest;
  return openIndex(sealed, join(folder, "base-index.plain"), seed, { projectId, version });
}

async function makeDeltaFrom(
  base: OpenIndex,
  folder: string,
  { project, artifact, seed, level, limits, keptAs, signal }: PublishDeltasOptions,
): Promise<SealedArtifact | undefined> {
  const output =
    keptAs === undefined ? join(folder, "delta.xdeploy") : await freed(`${keptAs}.from-${base.tree.version}`);
  const artifactBytes = artifact.size;
  return makeDelta({ project, base, work: join(folder, "work"), output, artifactBytes, seed, level, limits, signal });
}

/** Removes what an earlier artifact of the same name left: the artifact's own file is new. @returns the path */
async function freed(path: string): Promise<string> {
  await rm(path, { force: true });
  return path;
}

/** Runs a step whose failure costs hosts bytes and nothing else. A signal ends it. */
async function attempt(
  what: string,
  { emit }: Pick<PublishDeltasOptions, "emit">,
  step: () => Promise<void>,
): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (isAbort(error)) throw error;
    const why = error instanceof SealiftError || error instanceof Error ? error.message : String(error);
    emit({ event: "warning", message: `${what}: ${why}` });
  }
}
