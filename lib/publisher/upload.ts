import type { GrowingFile } from "../artifact/project/growing-file.ts";
import type { SourceProject } from "../artifact/project/project-tree.ts";
import type { SealedArtifact } from "../artifact/project/seal.ts";
import {
  type FirstFields,
  keptBytes,
  publishArtifact,
  publishGrowing,
  type PublishTarget,
} from "../client/publish-client.ts";
import { uploadResumed, type UploadStep } from "../client/resumed-upload.ts";
import { SealiftError } from "../contract/errors.ts";
import type { PublishFields, PublishResult } from "../contract/surfaces/deploy.ts";

/** Upload events of a publication. */
export type UploadEvent =
  /** The total is null while the artifact is still being packed. */
  | { event: "upload.progress"; bytes: number; total_bytes: number | null }
  /**
   * The upload failed, and is repeated after the time that the hub asks for: publishing the same bytes twice has no
   * further effect.
   */
  | {
      event: "upload.retrying";
      attempt: number;
      attempts: number;
      wait_ms: number;
      code: string;
      message: string;
    }
  /** The attempt sends the file from this byte on: the hub has kept what is before it. */
  | { event: "upload.resumed"; from_byte: number }
  | { event: "upload.done"; artifact_id: string };

/** Events of an upload that is cut. */
export type RetryEvent = Extract<UploadEvent, { event: "upload.retrying" | "upload.resumed" }>;

/** Returns the options of a resumed upload by which its attempts become events. */
export const tellRetries = (
  emit: (event: RetryEvent) => void,
): Pick<Parameters<typeof uploadResumed>[0], "onRetry" | "onResume"> => ({
  onRetry: ({ error: { code, message }, attempt, attempts, waitMs }) =>
    emit({ event: "upload.retrying", attempt, attempts, wait_ms: waitMs, code, message }),
  onResume: (bytes) => emit({ event: "upload.resumed", from_byte: bytes }),
});

/** Project, and the artifact that it was sealed into. */
export interface SealedProject {
  project: SourceProject;
  artifact: SealedArtifact;
}

/** Project that the hub has. */
export interface Uploaded extends SealedProject {
  outcome: "published" | "unchanged";
  record?: PublishResult;
}

export interface UploadOptions {
  target: PublishTarget;
  fields: FirstFields;
  sealing: Promise<SealedProject>;
  /** R ‖ A of the signature, for a hub that hashes while it receives. */
  start?: Uint8Array | undefined;
  /** File of the artifact while it is sealed. */
  growing: GrowingFile;
  emit: (event: UploadEvent) => void;
}

/**
 * Uploads an artifact while it is packed and signed. If that fails, uploads the bytes that the hub lacks once it is
 * complete, with its fields first and its length stated.
 *
 * @throws AuthenticationError and PublishError of the hub, and the errors of `sealing`
 */
export async function uploadWhileSealed(options: UploadOptions): Promise<Uploaded> {
  const { target, fields, sealing, start, growing, emit } = options;
  const sentTo =
    (tell: (bytes: number) => void) =>
    (bytes: number, total: number | undefined): void => {
      tell(bytes);
      emit({ event: "upload.progress", bytes, total_bytes: total ?? null });
    };
  const whole = async (step: UploadStep, tell: (bytes: number) => void): Promise<PublishResult> => {
    const sealed = await sealing;
    const asked = { start, onSent: sentTo(tell), step };
    return publishArtifact(target, { ...fields, ...fieldsOf(sealed) }, sealed.artifact.path, asked);
  };
  const meanwhile = async (step: UploadStep, tell: (bytes: number) => void): Promise<PublishResult> => {
    const later = async () => {
      const { version: _version, project_name: _name, ...rest } = fieldsOf(await sealing);
      return rest;
    };
    try {
      return await publishGrowing(target, fields, growing, later, { start, onSent: sentTo(tell), step });
    } catch (error) {
      // This server accepts no upload without a length.
      if (error instanceof SealiftError && error.status === 411) return whole(step, tell);
      throw error;
    }
  };
  let attempt = meanwhile;
  try {
    const record = await uploadResumed({
      ask: (id) => keptBytes(target, id),
      send(step, tell) {
        const send = attempt;
        attempt = whole;
        return send(step, tell);
      },
      file: async () => (await sealing).artifact.path,
      signal: target.signal,
      ...tellRetries(emit),
    });
    emit({ event: "upload.done", artifact_id: record.artifact_id });
    return { outcome: "published", ...(await sealing), record };
  } catch (error) {
    if (!(error instanceof SealiftError) || error.code !== "version_exists") throw error;
    const sealed = await sealing;
    if (error.storedContentSha256 === sealed.project.manifest.content_sha256)
      return { outcome: "unchanged", ...sealed };
    throw error;
  }
}

function fieldsOf({ project: { manifest }, artifact }: SealedProject): Omit<PublishFields, "stage" | "needs_agent"> {
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  return {
    version: manifest.version,
    project_name: manifest.project_name,
    content_sha256: manifest.content_sha256,
    dek: base64(artifact.dek),
    signature: base64(artifact.signature),
    signer_public_key: base64(artifact.signerPublicKey),
  };
}
