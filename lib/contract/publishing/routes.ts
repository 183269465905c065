import * as z from "zod";
import { later } from "../later.ts";
import { bytes, errorBody, type Route } from "../route.ts";
import {
  ARTIFACT_PART,
  deltaFields,
  deltaResult,
  INDEX_PART,
  indexesAnswer,
  indexResult,
  publishFields,
  publishResult,
} from "../surfaces/deploy.ts";
import { HEADERS } from "../surfaces/headers.ts";
import { uploadFields, uploadId, uploadState } from "./uploads.ts";

const shared = { mount: "deploy", who: { key: ["publish", "stage"] }, tags: ["deploy hub"] } as const;

const versionExists = later(() =>
  errorBody
    .extend({ content_sha256: z.string() })
    .describe("The version exists with other bytes; content_sha256 is that of the stored tree."),
);

/** Description of forms whose file may come in several requests. */
export const RESUMED =
  "With `upload_id` before the file, the hub keeps what has arrived when the connection is cut, for a day at most.";

export const publishArtifact = {
  ...shared,
  method: "POST",
  path: "/v1/projects/:project_id/publish",
  summary: "Publish an encrypted project artifact",
  form: true,
  description: RESUMED,
  body: later(() => publishFields.extend({ ...uploadFields.partial().shape, [ARTIFACT_PART.name]: z.file() })),
  ok: { 200: later(() => publishResult.describe("The very same bytes are published already.")), 201: publishResult },
  errors: [413],
  faults: { 409: versionExists },
} as const satisfies Route;

export const showUpload = {
  ...shared,
  method: "GET",
  path: "/v1/projects/:project_id/uploads/:upload",
  params: later(() => z.object({ project_id: z.string(), upload: uploadId })),
  summary: "Bytes that are kept of an upload to a project; ends the request that brings it",
  ok: { 200: uploadState },
} as const satisfies Route;

export const publishDelta = {
  ...shared,
  method: "POST",
  path: "/v1/projects/:project_id/artifacts/:version/deltas",
  summary: "Publish a delta that leads to a published version",
  form: true,
  description: RESUMED,
  body: later(() => deltaFields.extend({ ...uploadFields.partial().shape, [ARTIFACT_PART.name]: z.file() })),
  ok: { 200: later(() => deltaResult.describe("The version has a delta from this base already.")), 201: deltaResult },
  errors: [409, 413],
} as const satisfies Route;

export const publishIndex = {
  ...shared,
  method: "POST",
  path: "/v1/projects/:project_id/artifacts/:version/index",
  summary: "Store the sealed index of a published version",
  form: true,
  body: later(() => z.object({ [INDEX_PART.name]: z.file() })),
  ok: { 200: later(() => indexResult.describe("The version has an index already.")), 201: indexResult },
  errors: [409, 413],
} as const satisfies Route;

export const listIndexes = {
  ...shared,
  method: "GET",
  path: "/v1/projects/:project_id/indexes",
  summary: "Versions whose index is stored: those first that most hosts run, then the newest",
  ok: { 200: indexesAnswer },
} as const satisfies Route;

export const readIndex = {
  ...shared,
  method: "GET",
  head: true,
  path: "/v1/projects/:project_id/artifacts/:version/index",
  summary: "The sealed index of a version",
  description: `${HEADERS.download} is where the same bytes are given without a key, for a while.`,
  ok: { 200: bytes("The whole index."), 206: bytes("The range asked for.") },
  errors: [416],
} as const satisfies Route;
