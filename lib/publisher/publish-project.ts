import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeOpeningKeys } from "../artifact/delta/open-file.ts";
import type { Limits } from "../artifact/limits.ts";
import type { PackageChoice } from "../artifact/packages/project-packages.ts";
import { GrowingFile } from "../artifact/project/growing-file.ts";
import {
  type ListedProject,
  listProject,
  type ProjectOptions,
  readProject,
  type SourceProject,
} from "../artifact/project/project-tree.ts";
import { drawKeys, type SealedArtifact, sealListed, sealProject } from "../artifact/project/seal.ts";
import type { HubConnection } from "../client/hub-connection.ts";
import { listIndexes, type PublishTarget } from "../client/publish-client.ts";
import { tellWaits, type WaitEvent } from "../client/wait-event.ts";
import { agentNeeds } from "../contract/agent-needs.ts";
import { isAbort } from "../contract/errors.ts";
import type { IndexedVersions, PublishResult } from "../contract/surfaces/deploy.ts";
import { traced } from "../support/work.ts";
import { type DeltaBases, type DeltaEvent, publishDeltas, type PublishedDelta, sizeDeltas } from "./publish-deltas.ts";
import { type SealedProject, type Uploaded, type UploadEvent, uploadWhileSealed } from "./upload.ts";

/** Event of a publication at work. */
export type PublishEvent =
  | { event: "scan.progress"; bytes: number; total_bytes: number }
  | { event: "scan.done"; files: number; bytes: number; content_sha256: string; left_out: number }
  | { event: "pack.progress"; bytes: number; total_bytes: number }
  | { event: "pack.done"; artifact_bytes: number }
  | { event: "sign.done"; signer_public_key: string }
  | UploadEvent
  | WaitEvent
  | DeltaEvent;

export interface BuildOptions {
  sourceRoot: string;
  projectId: string;
  projectName: string;
  version: string;
  include: readonly string[];
  limits: Limits;
  /** Folders whose npm packages are packed; default those of applications. */
  packages?: PackageChoice;
  /** Platform of the hosts, such as `linux-arm64`; default that of this machine. */
  platform?: string | undefined;
  /** Modification time of all members, in seconds since 1970. */
  sourceDateEpoch?: number;
  /** Whether large files are cut into chunks, for deltas. Default false. */
  chunks?: boolean;
  signal: AbortSignal;
  emit: (event: PublishEvent) => void;
}

export interface PublishProjectOptions extends BuildOptions {
  seed: Uint8Array;
  level: number;
  /** Path at which to keep the artifact; by default a temporary file is used and removed. */
  output?: string;
  /** Whether the version waits until another person approves it. Default false. */
  stage?: boolean;
  /** Hub to publish to; without one the artifact is only built, and `output` is required. */
  hub?: HubConnection;
  /** Earlier versions from which deltas are made; without it the version gets neither deltas nor an index. */
  deltas?: DeltaBases;
}

export interface PublicationResult {
  outcome: "published" | "unchanged" | "built";
  project: SourceProject;
  artifact: SealedArtifact;
  record?: PublishResult;
  deltas: PublishedDelta[];
}

/** Sizes of what a publication would send, in bytes. */
export interface PublicationSizes {
  artifactBytes: number;
  deltas: PublishedDelta[];
}

const projectOptions = (options: BuildOptions): ProjectOptions => ({
  projectId: options.projectId,
  projectName: options.projectName,
  version: options.version,
  include: options.include,
  limits: options.limits,
  packages: options.packages,
  platform: options.platform,
  signal: options.signal,
  chunks: options.chunks ?? false,
  ...(options.sourceDateEpoch !== undefined && { sourceDateEpoch: options.sourceDateEpoch }),
});

/** Reports what may surprise the publisher, before anything is read. */
const tellNotes = ({ notes }: ListedProject, emit: BuildOptions["emit"]): void =>
  notes.forEach((message) => emit({ event: "warning", message }));

/** Reports the content of a tree, once its files have been read. */
function tellRead({ tree, manifest }: SourceProject, emit: BuildOptions["emit"]): void {
  const { files, bytes } = tree.members;
  emit({
    event: "scan.done",
    files,
    bytes,
    content_sha256: manifest.content_sha256,
    left_out: tree.leftOut.length,
  });
}

/** Lists, hashes and describes what would be published (deploy-publish --dry-run). @throws UsageError `source_*` */
export async function buildProject(options: BuildOptions): Promise<SourceProject> {
  const { emit } = options;
  const project = await readProject(options.sourceRoot, {
    ...projectOptions(options),
    onListed: (listed) => tellNotes(listed, emit),
    onHashed: (bytes, total) => emit({ event: "scan.progress", bytes, total_bytes: total }),
  });
  tellRead(project, emit);
  return project;
}

/**
 * Seals artifact and deltas as a publication would, to learn their sizes, and neither keeps nor sends them. Deltas need
 * the indexes of earlier versions, which the hub has and the signer's seed opens.
 *
 * @param project read with chunks
 */
export async function sizePublication(
  project: SourceProject,
  options: Omit<PublishProjectOptions, "output"> & Required<Pick<PublishProjectOptions, "hub" | "deltas">>,
): Promise<PublicationSizes> {
  const { emit, seed, level, limits, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "sealift-publish-"));
  try {
    const artifact = await sealProject(project, { output: join(folder, "artifact.xdeploy"), ...packing(options) });
    const target = { ...options.hub, signal, ...tellWaits(emit), projectId: project.manifest.project_id };
    const deltas = await withEarlier(target, emit, (earlier) => {
      const bases = options.deltas;
      return sizeDeltas({ target, project, artifact, earlier, bases, seed, level, limits, folder, signal, emit });
    });
    return { artifactBytes: artifact.size, deltas };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const packing = ({ seed, level, signal, output, emit }: PublishProjectOptions) => ({
  ...{ seed, level, signal, durable: output !== undefined },
  onPacked: (bytes: number, total: number) => emit({ event: "pack.progress", bytes, total_bytes: total }),
  onSealed: (bytes: number) => emit({ event: "pack.done", artifact_bytes: bytes }),
});

/**
 * Builds, signs and uploads a project. Publishing the same tree under the same version again is `unchanged`: keys and
 * nonces are random, so the hub answers 409, and the digests show that nothing differs.
 *
 * @throws UsageError for a tree that cannot be published; AuthenticationError and PublishError of the hub
 */
export async function publishProject(options: PublishProjectOptions): Promise<PublicationResult> {
  const { emit, signal, hub } = options;
  const chunks = hub !== undefined && options.deltas !== undefined;
  const listed = listProject(options.sourceRoot, projectOptions(options));
  tellNotes(listed, emit);
  const folder = await mkdtemp(join(tmpdir(), "sealift-publish-"));
  const output = options.output ?? join(folder, "artifact.xdeploy");
  const growing = new GrowingFile(output);
  const keys = drawKeys(options.seed, listed);
  const { start } = keys.signer;
  // A rejected upload makes the rest of the packing useless, unless the artifact is kept.
  const useless = new AbortController();
  const packed = { ...packing(options), signal: AbortSignal.any([signal, useless.signal]) };
  const seal = async (): Promise<SealedProject> => {
    const onRead = (project: SourceProject): void => tellRead(project, emit);
    const sealed = await traced("seal", {}, () =>
      sealListed(listed, { output, growing, chunks, keys, onRead, ...packed }),
    );
    const { artifact } = sealed;
    emit({ event: "sign.done", signer_public_key: Buffer.from(artifact.signerPublicKey).toString("hex") });
    if (options.output !== undefined) await writeOpeningKeys(artifact);
    return sealed;
  };
  const sealing = seal();
  sealing.catch((error: unknown) => growing.fail(error));
  try {
    if (hub === undefined) return { outcome: "built", ...(await sealing), deltas: [] };
    const target = { ...hub, signal, ...tellWaits(emit), projectId: options.projectId };
    const staged = options.stage === true ? ({ stage: "true" } as const) : {};
    const needs_agent = agentNeeds(listed.apps)?.version;
    const needs = needs_agent === undefined ? {} : { needs_agent };
    const fields = { version: options.version, project_name: options.projectName, ...staged, ...needs };
    const uploading = traced("upload", {}, () => uploadWhileSealed({ target, fields, sealing, start, growing, emit }));
    const isKept = options.output !== undefined;
    uploading.catch(() => {
      if (!isKept) useless.abort();
    });
    // The next files can be made while the hub still checks the artifact. Files kept beside it are made only after the
    // hub has it.
    const whole = isKept ? uploading : sealing;
    const adding = traced("deltas", {}, async () =>
      addDeltas(await whole, uploading, { ...options, signal: packed.signal }, target, folder),
    );
    await Promise.allSettled([uploading, adding]);
    return { ...(await uploading), deltas: await adding };
  } finally {
    await sealing.catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Adds deltas and the index once the version is visible, also for one whose publisher was killed before it had. Emits
 * nothing until then.
 */
async function addDeltas(
  { project, artifact }: SealedProject,
  uploading: Promise<Uploaded>,
  options: PublishProjectOptions,
  publisher: PublishTarget,
  folder: string,
): Promise<PublishedDelta[]> {
  const { deltas: bases, output: keptAs, seed, level, limits, signal } = options;
  if (bases === undefined) return [];
  const { version } = project.manifest;
  const target = { ...publisher, signal };
  const emit = (event: PublishEvent): void =>
    void uploading.then(
      () => options.emit(event),
      () => {},
    );
  return withEarlier(target, emit, async (earlier) => {
    if (earlier.some((known) => known.version === version) && (await uploading).outcome === "unchanged") return [];
    return publishDeltas({
      ...{ target, project, artifact, visible: uploading, earlier, bases, seed, level, limits, folder, signal, emit },
      ...(keptAs !== undefined && { keptAs }),
    });
  });
}

/** Runs a step with the earlier versions whose index the hub has. Its failure is a warning: no host needs a delta. */
async function withEarlier(
  target: PublishTarget,
  emit: PublishProjectOptions["emit"],
  step: (earlier: IndexedVersions) => Promise<PublishedDelta[]>,
): Promise<PublishedDelta[]> {
  try {
    return await step(await listIndexes(target));
  } catch (error) {
    if (isAbort(error)) throw error;
    emit({ event: "warning", message: `No deltas were made: ${(error as Error).message}` });
    return [];
  }
}
