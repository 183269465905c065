import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type * as z from "zod";
import * as routes from "../contract/publishing/routes.ts";
import {
  ARTIFACT_PART,
  type DeltaFields,
  INDEX_PART,
  type IndexedVersions,
  type PublishFields,
  type PublishResult,
} from "../contract/surfaces/deploy.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import { ifFound, readJson, statusError } from "./answers.ts";
import { ask, type Asking, requestOf } from "./ask.ts";
import { type FileBytes, type FileForm, type FilePart, formBody, wholeFile } from "./file-form.ts";
import { type HttpRequest, send, transportError } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { stepPart, type UploadStep } from "./resumed-upload.ts";

/** Hub, and the project on it to publish to. */
export interface PublishTarget extends HubConnection {
  projectId: string;
}

interface Upload<T extends z.ZodType> {
  /** Request without its form. */
  request: HttpRequest;
  part: FilePart;
  /** File to send. */
  file: string | FileBytes;
  fields?: Partial<PublishFields>;
  /** Returns the fields that are known when the file is whole. */
  later?: (() => Promise<Partial<PublishFields>>) | undefined;
  answer: T;
  /** R ‖ A of the signature: a hub that gets them before the file hashes while it receives. */
  start?: Uint8Array | undefined;
  onSent?: FileForm["onSent"];
  /** Request of an upload that may take several. */
  step?: UploadStep | undefined;
}

type UploadOptions = Pick<Upload<z.ZodType>, "start" | "onSent" | "step">;

/** Sends a form: the fields first, then the file as a stream, read again for each redirect. */
async function upload<T extends z.ZodType>(
  target: PublishTarget,
  { request: asked, part, file, fields = {}, later, answer, start, onSent, step = { fields: {} } }: Upload<T>,
): Promise<z.output<T>> {
  const secrets = [...asked.secrets!];
  const remembered = (values: Partial<PublishFields>): Partial<PublishFields> => {
    if (values.dek !== undefined) secrets.push(values.dek);
    return values;
  };
  const form = async () =>
    formBody({
      ...{ fields: { ...remembered(fields), ...step.fields }, onSent },
      ...stepPart(part, typeof file === "string" ? await wholeFile(file) : file, step),
      ...(later && { later: async () => remembered(await later()) }),
    });
  const request: HttpRequest = {
    ...asked,
    ...(start && { headers: { [HEADERS.signatureStart]: Buffer.from(start).toString("base64") } }),
    form,
    secretBody: true,
    secrets,
  };
  const response = await send(request, target);
  try {
    return await readJson(response, request, answer);
  } catch (error) {
    throw transportError(error, request, response.url, target);
  }
}

/**
 * Publishes an artifact (docs/contract/deploy.md#publish).
 *
 * @throws AuthenticationError on 401 and 403, PublishError otherwise; that of a 409 has `storedContentSha256`
 */
export function publishArtifact(
  target: PublishTarget,
  fields: PublishFields,
  file: string,
  options: UploadOptions = {},
): Promise<PublishResult> {
  const request = requestOf(routes.publishArtifact, { params: { project_id: target.projectId } }, asking(target));
  const answer = routes.publishArtifact.ok[201];
  return upload(target, { request, part: ARTIFACT_PART, file, fields, answer, ...options });
}

/** Returns how many bytes of an upload the hub has kept. @throws `not_found` for none */
export const keptBytes = async (target: PublishTarget, upload: string): Promise<number> => {
  const params = { project_id: target.projectId, upload };
  return (await ask(routes.showUpload, { params }, asking(target))).upload_offset;
};

/** Fields of a publication that are known before the first byte of its artifact. */
export type FirstFields = Pick<PublishFields, "version" | "project_name" | "stage" | "needs_agent">;

/**
 * Publishes an artifact that is still being made: sends its bytes as they are produced, and the fields that depend on
 * them after the file. The upload has no length, which some servers reject with 411.
 *
 * @throws as {@link publishArtifact}, and the errors of `file` and `later`
 */
export function publishGrowing(
  target: PublishTarget,
  fields: FirstFields,
  file: FileBytes,
  later: () => Promise<Omit<PublishFields, keyof FirstFields>>,
  options: UploadOptions = {},
): Promise<PublishResult> {
  const request = requestOf(routes.publishArtifact, { params: { project_id: target.projectId } }, asking(target));
  const answer = routes.publishArtifact.ok[201];
  return upload(target, { request, part: ARTIFACT_PART, file, fields, later, answer, ...options });
}

/**
 * Publishes a delta that leads to a published version (docs/contract/delta.md).
 *
 * @throws AuthenticationError on 401 and 403, PublishError otherwise
 */
export async function publishDelta(
  target: PublishTarget,
  version: string,
  fields: DeltaFields,
  file: string,
): Promise<void> {
  const params = { project_id: target.projectId, version };
  const request = requestOf(routes.publishDelta, { params }, asking(target));
  await upload(target, { request, part: ARTIFACT_PART, file, fields, answer: routes.publishDelta.ok[201] });
}

/**
 * Stores the sealed index of a published version.
 *
 * @throws AuthenticationError on 401 and 403, PublishError otherwise
 */
export async function publishIndex(target: PublishTarget, version: string, file: string): Promise<void> {
  const params = { project_id: target.projectId, version };
  const request = requestOf(routes.publishIndex, { params }, asking(target));
  await upload(target, { request, part: INDEX_PART, file, answer: routes.publishIndex.ok[201] });
}

const asking = (hub: PublishTarget): Asking => ({ operation: "publish", hub });

/**
 * Returns the versions with a stored index: those that most hosts run first, then the newest. Empty for a hub without
 * deltas.
 */
export async function listIndexes(target: PublishTarget): Promise<IndexedVersions> {
  const listed = ask(routes.listIndexes, { params: { project_id: target.projectId } }, asking(target));
  return (await ifFound(listed))?.indexes ?? [];
}

/**
 * Downloads the sealed index of a version.
 *
 * @param file path to write, which must not exist
 */
export async function downloadIndex(target: PublishTarget, version: string, file: string): Promise<void> {
  const params = { project_id: target.projectId, version };
  const request = requestOf(routes.readIndex, { params }, asking(target));
  const response = await send(request, target);
  // Errors of the file, such as a full disk, are not the connection's.
  async function* received(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of response.body as AsyncIterable<Buffer>) yield chunk;
    } catch (error) {
      throw transportError(error, request, response.url, target);
    }
  }
  try {
    if (response.status !== 200) throw await statusError(response, request);
    await pipeline(received, createWriteStream(file, { flags: "wx", mode: 0o600 }));
  } finally {
    if (!response.body.destroyed) response.discard();
  }
}
