import * as z from "zod";
import { projectId, sha256Hex, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import { noContent, ofKinds, type Route } from "../route.ts";
import { MAX_ROOT_BYTES } from "./marks.ts";
import { rootDocument, rootId, rootVersion } from "./root.ts";

/** Most targets that one publication lets follow a root. */
const MAX_TARGETS = 1000;

export const rootPublication = later(() =>
  z.strictObject({
    /** The document, as its holders have signed it. */
    root: z.string().min(1).max(MAX_ROOT_BYTES),
    /** Ids of projects, plugins and services that follow the root from now on. Those that follow it already stay. */
    targets: z.array(z.string().min(1).max(128)).max(MAX_TARGETS).optional(),
  }),
);

export const rootRecord = later(() =>
  z.object({
    id: rootId,
    /** Owner of its targets: another owner's root of the same id is another record. */
    owner: z.string(),
    /** Newest version. */
    version: rootVersion,
    /** SHA-256 of what its signatures are over. */
    digest: sha256Hex,
    expires: z.string(),
    published_at: timestamp,
    /** Id of the key that published it. */
    published_by: z.string(),
    /** Ids of the projects, plugins and services that follow it; for a key bound to one of them, only that one. */
    targets: z.array(z.string()),
  }),
);
export type RootRecord = z.infer<typeof rootRecord>;

const managed = { mount: "devkeys", tags: ["trust roots"] } as const;
const byRoot = later(() => z.object({ root: rootId }));
const byVersion = later(() => z.object({ root: rootId, version: z.coerce.number().pipe(rootVersion) }));

export const publishRoot = {
  ...managed,
  method: "POST",
  path: "/roots",
  who: { key: ["projects"] },
  summary: "Publish a version of a trust root, or let further targets follow it",
  description:
    "The hub verifies it as hosts do: version 1 first, then one by one. A version that it has stays: the same one again " +
    "is 200, another 409. A key bound to one target publishes new versions of roots that no other target follows.",
  body: rootPublication,
  ok: { 200: later(() => rootRecord.describe("The hub has this very version already.")), 201: rootRecord },
  errors: [404, 409],
} as const satisfies Route;

export const listRoots = {
  ...managed,
  method: "GET",
  path: "/roots",
  who: { key: ["read", "projects", "publish"] },
  otherHosts: "none",
  summary: "The trust roots of the owner",
  query: pageQuery,
  ok: { 200: page(rootRecord) },
} as const satisfies Route;

export const showRoot = {
  ...managed,
  method: "GET",
  path: "/roots/:root",
  who: { key: ["read", "projects", "publish"] },
  otherHosts: "none",
  summary: "A trust root, with the targets that follow it",
  params: byRoot,
  ok: { 200: rootRecord },
  errors: [409],
} as const satisfies Route;

export const readRoot = {
  ...managed,
  method: "GET",
  path: "/roots/:root/versions/:version",
  who: { key: ["read", "projects", "publish"] },
  otherHosts: "none",
  summary: "A version of a trust root, as it was published",
  params: byVersion,
  ok: { 200: later(() => rootDocument.describe("The document, as it was published.")) },
  errors: [409],
} as const satisfies Route;

export const followedRoot = {
  ...managed,
  method: "GET",
  path: "/projects/:id/root",
  who: { key: ["read", "projects", "publish"] },
  otherHosts: "none",
  summary: "The trust root that a target follows",
  ok: { 200: rootRecord },
} as const satisfies Route;

export const leaveRoot = {
  ...managed,
  method: "DELETE",
  path: "/projects/:id/root",
  who: { key: ["projects"] },
  summary: "Let a target follow no trust root at this hub; hosts keep the one that they have",
  ok: { 204: noContent },
} as const satisfies Route;

const reading = {
  method: "GET",
  tags: ["trust roots"],
  summary: "A version of the trust root that names the signers, as it was published",
  ok: { 200: later(() => rootDocument.describe("The document, as it was published.")) },
} as const;
const version = later(() => z.coerce.number().pipe(rootVersion));

export const readProjectRoot = {
  ...reading,
  mount: "deploy",
  path: "/v1/projects/:project_id/roots/:version",
  params: later(() => z.object({ project_id: projectId, version })),
  who: { keyOrSession: ["deploy", "read", "publish", "stage", "projects"] },
  otherHosts: "none",
} as const satisfies Route;

export const readTargetRoot = ofKinds((kind) => ({
  ...reading,
  mount: `${kind}s`,
  path: `/${kind}s/:slug/roots/:version`,
  params: later(() => z.object({ slug: z.string(), version })),
  who: { key: ["deploy", "read", "publish", "stage", "projects"] },
  otherHosts: "none",
}));
