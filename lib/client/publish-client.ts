import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type * as z from "zod";
import { SealiftError } from "../contract/errors.ts";
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
import { baseUrl } from "../contract/surfaces/paths.ts";
import { readJson, statusError } from "./answers.ts";
import { ask, type Asking, requestOf } from "./ask.ts";
import { DOWNLOADS, MIRROR_TIMEOUT_MS, type MirrorUse } from "./download.ts";
import { type FileBytes, type FileForm, type FilePart, formBody, wholeFile } from "./file-form.ts";
import { bodyOf, header, type HttpRequest, operationError, send, type Transport, transportError } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { asNamed, type NamedBytes } from "./named-bytes.ts";

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
}

type UploadOptions = Pick<Upload<z.ZodType>, "start" | "onSent">;

/** Sends a form: the fields first, then the file as a stream, read again for each redirect. */
async function upload<T extends z.ZodType>(
  target: PublishTarget,
  { request: asked, part, file, fields = {}, later, answer, start, onSent }: Upload<T>,
): Promise<z.output<T>> {
  const secrets = [...asked.secrets!];
  const remembered = (values: Partial<PublishFields>): Partial<PublishFields> => {
    if (values.dek !== undefined) secrets.push(values.dek);
    return values;
  };
  const form = async () =>
    formBody({
      ...{ fields: remembered(fields), part, onSent },
      file: typeof file === "string" ? await wholeFile(file) : file,
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

/** Fields of a publication that are known before the first byte of its artifact. */
export type FirstFields = Pick<PublishFields, "version" | "project_name" | "stage">;

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
  try {
    return (await ask(routes.listIndexes, { params: { project_id: target.projectId } }, asking(target))).indexes;
  } catch (error) {
    if (error instanceof SealiftError && error.status === 404) return [];
    throw error;
  }
}

/** Mirrors of a publication. `onLeft` is called with the reason for which one is abandoned. */
export type IndexMirrors = Pick<MirrorUse, "urls" | "onLeft">;

/**
 * Downloads the sealed index of a version: from the first mirror that has the bytes announced by the hub, else from the
 * hub.
 *
 * @param file path to write, which must not exist
 */
export async function downloadIndex(
  target: PublishTarget,
  version: string,
  file: string,
  mirrors?: IndexMirrors,
): Promise<void> {
  const params = { project_id: target.projectId, version };
  const request = requestOf(routes.readIndex, { params }, asking(target));
  if (mirrors !== undefined && mirrors.urls.length > 0 && (await mirrored(target, request, file, mirrors))) return;
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

/** Downloads an index from the first mirror that has the hub's bytes. @returns whether one has */
async function mirrored(
  target: PublishTarget,
  request: HttpRequest,
  file: string,
  { urls, onLeft }: IndexMirrors,
): Promise<boolean> {
  const named = await namedIndex(target, request);
  if (named === undefined) return false;
  const transport = { ...target, timeoutMs: Math.min(target.timeoutMs, MIRROR_TIMEOUT_MS) };
  for (const mirror of urls) {
    try {
      await downloadNamed(transport, baseUrl(mirror) + named.path, named, file);
      return true;
    } catch (error) {
      await rm(file, { force: true });
      if (target.signal?.aborted === true) throw error;
      onLeft(mirror, (error as Error).message);
    }
  }
  return false;
}

/** Bytes announced by the hub, and the path and query that serve them without a key. */
interface Named extends NamedBytes {
  path: string;
}

/** Requests one byte of an index from the hub. Returns undefined for a hub that states no path, length or digest. */
async function namedIndex(target: PublishTarget, request: HttpRequest): Promise<Named | undefined> {
  const response = await send({ ...request, headers: { range: "bytes=0-0" } }, target);
  if (response.status !== 200 && response.status !== 206) throw await statusError(response, request);
  // Reading the one byte to its end keeps the connection for the next request.
  if (response.status === 206) response.body.on("error", () => {}).resume();
  else response.discard();
  const size = /\/(\d+)$/.exec(header(response, "content-range") ?? "")?.[1];
  const sha256 = /^"sha256-([0-9a-f]{64})"$/.exec(header(response, "etag") ?? "")?.[1];
  const path = header(response, HEADERS.download);
  if (size === undefined || sha256 === undefined || path?.startsWith(DOWNLOADS) !== true) return undefined;
  return { path, size: Number(size), sha256 };
}

/** Downloads bytes from a mirror. @throws SealiftError, also when they differ from what the hub announced */
async function downloadNamed(transport: Transport, url: string, named: Named, file: string): Promise<void> {
  const request: HttpRequest = { operation: "download", method: "GET", url, staysOnOrigin: true };
  const response = await send(request, transport);
  const differing = () => operationError("download", "artifact_changed", "it sent other bytes than the hub named.");
  try {
    if (response.status !== 200) throw await statusError(response, request);
    await pipeline(
      asNamed(bodyOf(response, request), named, differing),
      createWriteStream(file, { flags: "wx", mode: 0o600 }),
    );
  } finally {
    if (!response.body.destroyed) response.discard();
  }
}
