import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type OpenIndex, openIndex, writeIndex } from "../artifact/delta/index-file.ts";
import { makeDelta } from "../artifact/delta/make-delta.ts";
import type { Limits } from "../artifact/limits.ts";
import type { Project } from "../artifact/project/project-tree.ts";
import type { SealedArtifact } from "../artifact/project/seal.ts";
import { downloadIndex, publishDelta, publishIndex, type PublishTarget } from "../client/publish-client.ts";
import { isAbort, SealiftError } from "../contract/errors.ts";
import type { IndexedVersions } from "../contract/surfaces/deploy.ts";

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
  /** The full artifact, which is visible already. */
  artifact: SealedArtifact;
  /** Versions that were there before this one, as the hub listed them. */
  earlier: IndexedVersions;
  bases: DeltaBases;
  seed: Uint8Array;
  level: number;
  limits: Limits;
  /** A private folder for what is made on the way. */
  folder: string;
  signal: AbortSignal;
  emit: (event: DeltaEvent) => void;
}

/** A delta that hosts may now take. */
export interface PublishedDelta {
  base_version: string;
  /** Of the sealed delta. */
  bytes: number;
}

/**
 * Stores the index of a version that has just become visible, and publishes deltas to it from earlier ones. What fails is a warning:
 * hosts take the full artifact, and the next publication makes its deltas from an older base.
 */
export async function publishDeltas(options: PublishDeltasOptions): Promise<PublishedDelta[]> {
  const { target, project, seed, earlier, bases, folder, emit } = options;
  const { project_id: projectId, version, content_sha256: contentSha256 } = project.manifest;
  const made: PublishedDelta[] = [];
  await attempt(`The index of ${version} was not stored`, emit, async () => {
    const file = join(folder, "index");
    await writeIndex(file, { projectId, version, contentSha256 }, project.entries, seed);
    await publishIndex(target, version, file);
    emit({ event: "index.done", version });
  });
  for (const base of chooseBases(earlier, bases, version)) {
    await attempt(`No delta from ${base} was published`, emit, async () => {
      const bytes = await publishDeltaFrom(base, options);
      if (bytes !== undefined) made.push({ base_version: base, bytes });
    });
  }
  return made;
}

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

async function publishDeltaFrom(base: string, options: PublishDeltasOptions): Promise<number | undefined> {
  const { target, project, artifact, seed, level, limits, signal, emit } = options;
  const { version, project_id: projectId } = project.manifest;
  const folder = await mkdtemp(join(options.folder, "delta-"));
  try {
    const sealed = join(folder, "base-index");
    await downloadIndex(target, base, sealed);
    const index: OpenIndex = await openIndex(sealed, join(folder, "base-index.plain"), seed, {
      projectId,
      version: base,
    });
    const delta = await makeDelta({
      project,
      base: index,
      work: join(folder, "work"),
      output: join(folder, "delta.xdeploy"),
      artifactBytes: artifact.size,
      seed,
      level,
      limits,
      signal,
    });
    if (delta === undefined) {
      emit({
        event: "delta.skipped",
        base_version: base,
        reason: "it would not be much smaller than the full artifact",
      });
      return undefined;
    }
    const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
    await publishDelta(
      target,
      version,
      {
        base_version: base,
        base_content_sha256: index.tree.contentSha256,
        dek: base64(delta.dek),
        signature: base64(delta.signature),
        signer_public_key: base64(delta.signerPublicKey),
      },
      delta.path,
    );
    emit({ event: "delta.done", base_version: base, bytes: delta.size, artifact_bytes: artifact.size });
    return delta.size;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs a step whose failure costs hosts bytes and nothing else. A signal ends it. */
async function attempt(what: string, emit: (event: DeltaEvent) => void, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (isAbort(error)) throw error;
    const why = error instanceof SealiftError || error instanceof Error ? error.message : String(error);
    emit({ event: "warning", message: `${what}: ${why} The version itself is published.` });
  }
}
