import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type IndexedTree, type OpenIndex, openIndex, writeIndex } from "../artifact/delta/index-file.ts";
import { makeDelta } from "../artifact/delta/make-delta.ts";
import { writeOpeningKeys } from "../artifact/delta/open-file.ts";
import type { Limits } from "../artifact/limits.ts";
import type { SourceProject } from "../artifact/project/project-tree.ts";
import type { SealedArtifact } from "../artifact/project/seal.ts";
import {
  downloadIndex,
  type IndexMirrors,
  publishDelta,
  publishIndex,
  type PublishTarget,
} from "../client/publish-client.ts";
import { isAbort, SealiftError } from "../contract/errors.ts";
import type { DeltaFields, IndexedVersions } from "../contract/surfaces/deploy.ts";
import { syncFolder } from "../support/files.ts";

/** Publishes what follows once a version is visible; a publication without any of it is whole. */
export type DeltaEvent =
  | { event: "index.done"; version: string }
  | { event: "delta.done"; base_version: string; bytes: number; artifact_bytes: number }
  | { event: "delta.skipped"; base_version: string; reason: string }
  | { event: "warning"; message: string };

/** Earlier versions that deltas are made from. */
export type DeltaBases =
  /** The versions that most hosts run, and the last one: this many in all. */
  | { count: number }
  /** These versions. */
  | { versions: readonly string[] };

export interface PublishDeltasOptions {
  target: PublishTarget;
  project: SourceProject;
  /** The full artifact. */
  artifact: SealedArtifact;
  /** Settles when the artifact is visible, or will not be. Until then nothing is sent. */
  visible: Promise<unknown>;
  /** Versions that were there before this one, as the hub listed them. */
  earlier: IndexedVersions;
  bases: DeltaBases;
  seed: Uint8Array;
  level: number;
  /** Deterministic signature, as for the full artifact. */
  deterministicSignature?: boolean;
  limits: Limits;
  /** A private folder for what is made on the way. The caller removes it. */
  folder: string;
  /** The file that the artifact is kept in: index and deltas stay beside it (docs/contract/delta.md). */
  keptAs?: string;
  signal: AbortSignal;
  emit: (event: DeltaEvent) => void;
}

/** Facts and means that deltas are made of. */
type MakeDeltasOptions = Omit<PublishDeltasOptions, "visible">;

/** A delta that hosts may now take, or might. */
export interface PublishedDelta {
  base_version: string;
  /** Size of the sealed delta, in bytes. */
  bytes: number;
}

/**
 * Stores the index of a version once it is visible, and publishes deltas to it from earlier ones. Each is made while
 * what comes before it is sent. What fails is a warning: hosts take the full artifact, and the next publication makes
 * its deltas from an older base.
 *
 * @throws what `visible` rejects with; AbortError
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
    // One after the other: both at once would only take more memory.
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

/** Leaves be what an earlier run of this publication has stored: it has other bytes, and the same content. */
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

/** @returns the file of the version's index */
async function makeIndex({ project, seed, folder, keptAs }: MakeDeltasOptions): Promise<string> {
  const { project_id: projectId, version, content_sha256: contentSha256 } = project.manifest;
  const file = keptAs === undefined ? join(folder, "index") : await freed(`${keptAs}.index`);
  await writeIndex(file, { projectId, version, contentSha256 }, project.entries, seed);
  return file;
}

/** A delta that can be sent, and the folder of its own that it needs until then. */
interface MadeDelta {
  delta: SealedArtifact;
  base: IndexedTree;
  folder: string;
}

/** Makes a delta from each base that is worth one. */
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
  const mirrors = mirrorsOf(options);
  for (const version of chosen) {
    const folder = await mkdtemp(join(options.folder, "delta-"));
    const made = await attempt(`No delta from ${version} was made`, emit, async () => {
      const base = await fetchIndex(version, folder, options, mirrors);
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

/** The mirrors of one publication. One that fails is named in a warning, and asked no more. */
function mirrorsOf({ target, emit }: MakeDeltasOptions): IndexMirrors {
  const mirrors: IndexMirrors = {
    urls: [...new Set(target.mirrors)],
    onLeft: (url, why) => {
      mirrors.urls = mirrors.urls.filter((other) => other !== url);
      const message = `The mirror ${new URL(url).origin} was of no use, and the next source is asked: ${why}`;
      emit({ event: "warning", message });
    },
  };
  return mirrors;
}

async function fetchIndex(
  version: string,
  folder: string,
  { target, seed, project, limits }: MakeDeltasOptions,
  mirrors: IndexMirrors,
): Promise<OpenIndex> {
  const sealed = join(folder, "base-index");
  await downloadIndex(target, version, sealed, mirrors);
  const { project_id: projectId } = project.manifest;
  return openIndex(sealed, join(folder, "base-index.plain"), seed, { projectId, version }, limits);
}

async function makeDeltaFrom(
  base: OpenIndex,
  folder: string,
  { project, artifact, seed, level, deterministicSignature = false, limits, keptAs, signal }: MakeDeltasOptions,
): Promise<SealedArtifact | undefined> {
  const output =
    keptAs === undefined ? join(folder, "delta.xdeploy") : await freed(`${keptAs}.from-${base.tree.version}`);
  return makeDelta({
    ...{ project, base, work: join(folder, "work"), output, artifactBytes: artifact.size },
    ...{ seed, level, deterministic: deterministicSignature, durable: keptAs !== undefined, limits, signal },
  });
}

/** Removes what an earlier artifact of the same name left: the artifact's own file is new. @returns the path */
async function freed(path: string): Promise<string> {
  await rm(path, { force: true });
  return path;
}

/** Runs a step whose failure costs hosts bytes and nothing else. A signal ends it. @returns undefined if it failed */
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
