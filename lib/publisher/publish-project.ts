import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Limits } from "../artifact/limits.ts";
import { writeOpeningKeys } from "../artifact/project/open-file.ts";
import { type Project, readProject } from "../artifact/project/project-tree.ts";
import { type SealedArtifact, sealProject } from "../artifact/project/seal.ts";
import type { HubConnection } from "../client/hub-connection.ts";
import { listIndexes, publishArtifact, type PublishTarget, storedContentSha256 } from "../client/publish-client.ts";
import { repeated } from "../client/retry.ts";
import { isAbort, SealiftError } from "../contract/errors.ts";
import type { PublishResult } from "../contract/surfaces/deploy.ts";
import { type DeltaBases, type DeltaEvent, publishDeltas, type PublishedDelta } from "./publish-deltas.ts";

/** Events of a publication while it works. */
export type PublishEvent =
  | { event: "scan.progress"; bytes: number; total_bytes: number }
  | { event: "scan.done"; files: number; bytes: number; content_sha256: string; left_out: number }
  | { event: "pack.progress"; bytes: number; total_bytes: number }
  | { event: "pack.done"; artifact_bytes: number }
  | { event: "sign.done"; signer_public_key: string }
  | { event: "upload.progress"; bytes: number; total_bytes: number }
  /** The upload failed, and starts again: publishing the same bytes twice is publishing them once. */
  | { event: "upload.retrying"; attempt: number; attempts: number; code: string; message: string }
  | { event: "upload.done"; artifact_id: string }
  | DeltaEvent;

export interface BuildOptions {
  sourceRoot: string;
  projectId: string;
  projectName: string;
  version: string;
  include: readonly string[];
  limits: Limits;
  /** Seconds. */
  sourceDateEpoch?: number;
  /** Whether large files are cut into chunks, for deltas. Default false. */
  chunks?: boolean;
  signal: AbortSignal;
  emit: (event: PublishEvent) => void;
}

export interface PublishProjectOptions extends BuildOptions {
  seed: Uint8Array;
  level: number;
  /** The path to keep the artifact at; without it a temporary file is used and removed. */
  output?: string;
  /** Without it the artifact is only built, for which `output` is needed. */
  hub?: HubConnection;
  /** The earlier versions that deltas are made from; without it the version has neither deltas nor an index. */
  deltas?: DeltaBases;
}

export interface Publication {
  outcome: "published" | "unchanged" | "built";
  project: Project;
  artifact: SealedArtifact;
  record?: PublishResult;
  deltas: PublishedDelta[];
}

/** Lists, hashes and describes what would be published (deploy-publish --dry-run). @throws UsageError `source_*` */
export async function buildProject(options: BuildOptions): Promise<Project> {
  const { emit } = options;
  const project = await readProject(options.sourceRoot, {
    projectId: options.projectId,
    projectName: options.projectName,
    version: options.version,
    include: options.include,
    limits: options.limits,
    signal: options.signal,
    chunks: options.chunks ?? false,
    ...(options.sourceDateEpoch !== undefined && { sourceDateEpoch: options.sourceDateEpoch }),
    onHashed: (bytes, total) => emit({ event: "scan.progress", bytes, total_bytes: total }),
  });
  const files = project.tree.members.filter(({ type }) => type === "file");
  emit({
    event: "scan.done",
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    content_sha256: project.manifest.content_sha256,
    left_out: project.tree.leftOut.length,
  });
  return project;
}

/**
 * Builds, signs and uploads a project. The same tree under the same version again is `unchanged`: keys and nonces are random, so the hub
 * answers 409, and the digests tell that nothing differs.
 *
 * @throws UsageError for a tree that cannot be published; AuthenticationError and PublishError of the hub
 */
export async function publishProject(options: PublishProjectOptions): Promise<Publication> {
  const { emit, signal, hub } = options;
  const project = await buildProject({ ...options, chunks: hub !== undefined && options.deltas !== undefined });
  const folder = await mkdtemp(join(tmpdir(), "sealift-publish-"));
  const output = options.output ?? join(folder, "artifact.xdeploy");
  try {
    const artifact = await sealProject(project, {
      output,
      seed: options.seed,
      level: options.level,
      signal,
      onPacked: (bytes, total) => emit({ event: "pack.progress", bytes, total_bytes: total }),
      onSigning: (bytes) => emit({ event: "pack.done", artifact_bytes: bytes }),
    });
    emit({ event: "sign.done", signer_public_key: Buffer.from(artifact.signerPublicKey).toString("hex") });
    if (options.output !== undefined) await writeOpeningKeys(artifact);
    if (hub === undefined) return { outcome: "built", project, artifact, deltas: [] };
    const target = { ...hub, signal, projectId: project.manifest.project_id };
    const uploaded = await upload(target, project, artifact, emit);
    const deltas = await addDeltas(target, uploaded, options, folder);
    return { ...uploaded, deltas };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Uploaded = Omit<Publication, "deltas">;

async function upload(
  target: PublishTarget,
  project: Project,
  artifact: SealedArtifact,
  emit: (event: PublishEvent) => void,
): Promise<Uploaded> {
  const { manifest } = project;
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  const fields = {
    version: manifest.version,
    project_name: manifest.project_name,
    content_sha256: manifest.content_sha256,
    dek: base64(artifact.dek),
    signature: base64(artifact.signature),
    signer_public_key: base64(artifact.signerPublicKey),
  };
  try {
    const onUploaded = (bytes: number, total: number): void =>
      emit({ event: "upload.progress", bytes, total_bytes: total });
    const record = await repeated(() => publishArtifact(target, fields, artifact.path, onUploaded), {
      ...(target.signal && { signal: target.signal }),
      onRetry: (error, attempt, attempts) =>
        emit({ event: "upload.retrying", attempt, attempts, code: error.code, message: error.message }),
    });
    emit({ event: "upload.done", artifact_id: record.artifact_id });
    return { outcome: "published", project, artifact, record };
  } catch (error) {
    if (error instanceof SealiftError && storedContentSha256(error) === manifest.content_sha256) {
      return { outcome: "unchanged", project, artifact };
    }
    throw error;
  }
}

/** Adds what hosts upgrade by, after the version is visible: also for one whose publisher was killed before it had done so. */
async function addDeltas(
  target: PublishTarget,
  { outcome, project, artifact }: Uploaded,
  options: PublishProjectOptions,
  folder: string,
): Promise<PublishedDelta[]> {
  const { deltas: bases, emit, seed, level, limits, signal } = options;
  if (bases === undefined) return [];
  const { version } = project.manifest;
  try {
    const earlier = await listIndexes(target);
    if (outcome === "unchanged" && earlier.some((known) => known.version === version)) return [];
    return await publishDeltas({
      target,
      project,
      artifact,
      earlier,
      bases,
      seed,
      level,
      limits,
      folder,
      signal,
      emit,
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    emit({ event: "warning", message: `No deltas were published: ${(error as Error).message}` });
    return [];
  }
}
