import * as z from "zod";
import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import { RESUMED } from "../publishing/routes.ts";
import { uploadFields, uploadId, uploadState } from "../publishing/uploads.ts";
import { bytes, errorBody, noContent, notModified, ofKinds } from "../route.ts";
import { HEADERS } from "../surfaces/headers.ts";
import {
  ARCHIVE_PART,
  grantRecord,
  grantRequest,
  targetChanges,
  targetDetail,
  targetSummary,
  versionFields,
  versionRecord,
  yankRequest,
} from "../surfaces/marketplace.ts";
import type { MarketplaceKind } from "../surfaces/paths.ts";

/** Orders in which targets are listed: by slug, by name ignoring case, and newest first. */
export const TARGET_ORDERS = ["slug", "name", "newest"] as const;
export type TargetOrder = (typeof TARGET_ORDERS)[number];

const of = (kind: MarketplaceKind) => ({ mount: `${kind}s`, tags: [`${kind}s`] }) as const;

export const showTarget = ofKinds((kind) => ({
  ...of(kind),
  method: "GET",
  head: true,
  path: `/${kind}s/:slug`,
  who: { optionalKey: true },
  otherHosts: "none",
  summary: `The detail record of a ${kind}`,
  description: "A key is needed to see private targets; without access they are as missing ones.",
  ok: { 200: targetDetail, 304: notModified },
  errors: [416],
}));

export const installTarget = ofKinds((kind) => ({
  ...of(kind),
  method: "GET",
  head: true,
  path: `/${kind}s/:slug/install`,
  who: { key: ["deploy", "read"] },
  otherHosts: "none",
  load: "begun",
  summary: `The archive of a ${kind}, as it was published`,
  description:
    `X-Signature, ${HEADERS.plugin} or ${HEADERS.service} (name@version) and X-Repo come with it; ` +
    `${HEADERS.signatureEd25519} and ${HEADERS.signer}, where its author has signed it. ` +
    `${HEADERS.download} is where the same bytes are given without a key, for a while.`,
  query: later(() => z.object({ version: z.string().max(128).default("latest") })),
  ok: {
    200: bytes("The ZIP archive.", "application/zip"),
    206: bytes("The range asked for.", "application/zip"),
    304: notModified,
  },
  errors: [416],
}));

export const listTargets = ofKinds((kind) => ({
  ...of(kind),
  method: "GET",
  path: `/${kind}s`,
  who: { key: [] },
  otherHosts: "none",
  summary: `List and search the ${kind}s that the caller may see`,
  query: later(() =>
    pageQuery.extend({
      q: z.string().max(200).default("").describe("Text in slug, name or description"),
      sort: z.enum(TARGET_ORDERS).default("slug"),
      count: z.enum(["true", "false"]).default("false").describe("Whether the answer has the total of all pages"),
    }),
  ),
  ok: { 200: later(() => page(targetSummary).extend({ total: z.int().nonnegative().optional() })) },
}));

export const listTargetVersions = ofKinds((kind) => ({
  ...of(kind),
  method: "GET",
  path: `/${kind}s/:slug/versions`,
  who: { key: [] },
  otherHosts: "none",
  summary: `The versions of a ${kind}, newest first`,
  query: pageQuery,
  ok: { 200: page(versionRecord) },
}));

/** Error for a label that is taken. */
export const archiveExists = later(() =>
  errorBody
    .extend({ content_sha256: z.string() })
    .describe("The version exists with another archive; content_sha256 is the stored archive's."),
);

export const publishTargetVersion = ofKinds((kind) => ({
  ...of(kind),
  method: "POST",
  path: `/${kind}s/:slug/versions`,
  who: { key: ["publish", "stage"] },
  summary: `Publish a version of a ${kind}`,
  description: RESUMED,
  form: true,
  body: later(() => versionFields.extend({ ...uploadFields.partial().shape, [ARCHIVE_PART.name]: z.file() })),
  ok: { 200: later(() => versionRecord.describe("The very same archive is published already.")), 201: versionRecord },
  errors: [413],
  faults: { 409: archiveExists },
}));

export const showTargetUpload = ofKinds((kind) => ({
  ...of(kind),
  method: "GET",
  path: `/${kind}s/:slug/uploads/:upload`,
  params: later(() => z.object({ slug: z.string(), upload: uploadId })),
  who: { key: ["publish", "stage"] },
  summary: `Bytes that are kept of an upload to a ${kind}; ends the request that brings it`,
  ok: { 200: uploadState },
}));

const yank = (kind: MarketplaceKind) =>
  ({ ...of(kind), path: `/${kind}s/:slug/versions/:version/yank`, who: { key: ["publish"] } }) as const;

export const yankTargetVersion = ofKinds((kind) => ({
  ...yank(kind),
  method: "POST",
  summary: "Yank a version: it stays installable by its label, and is no longer the latest",
  body: later(() => yankRequest.nullish()),
  ok: { 200: versionRecord },
}));

export const unyankTargetVersion = ofKinds((kind) => ({
  ...yank(kind),
  method: "DELETE",
  summary: "Take a yank back",
  ok: { 200: versionRecord },
}));

export const changeTarget = ofKinds((kind) => ({
  ...of(kind),
  method: "PATCH",
  path: `/${kind}s/:slug`,
  who: { key: ["publish", "projects"] },
  summary: `Describe a ${kind}, or make it public or private`,
  body: targetChanges,
  ok: { 200: targetDetail },
}));

const grants = (kind: MarketplaceKind) =>
  ({ ...of(kind), path: `/${kind}s/:slug/grants`, who: { key: ["publish", "projects"] } }) as const;

export const listGrants = ofKinds((kind) => ({
  ...grants(kind),
  method: "GET",
  summary: `The owners who may see the private ${kind}`,
  query: pageQuery,
  ok: { 200: page(grantRecord) },
}));

export const addGrant = ofKinds((kind) => ({
  ...grants(kind),
  method: "POST",
  summary: `Let an owner's keys see the private ${kind}`,
  body: grantRequest,
  ok: { 201: grantRecord },
}));

export const removeGrant = ofKinds((kind) => ({
  ...grants(kind),
  method: "DELETE",
  path: `/${kind}s/:slug/grants/:owner`,
  summary: "Take a grant back",
  ok: { 204: noContent },
}));
