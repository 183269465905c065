import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import { noContent, type Route } from "../route.ts";
import {
  managedVersion,
  versionDeletion,
  versionDeprecationRequest,
  versionReleased,
  versionReleaseRequest,
  versionYankRequest,
} from "../surfaces/keys.ts";

const shared = { mount: "devkeys", tags: ["key service"] } as const;

export const listVersions = {
  ...shared,
  method: "GET",
  path: "/projects/:id/versions",
  who: { key: ["read", "projects", "publish"] },
  otherHosts: "none",
  summary: "The versions of a project, plugin or service, newest first",
  query: pageQuery,
  ok: { 200: page(managedVersion) },
} as const satisfies Route;

export const yankVersion = {
  ...shared,
  method: "POST",
  path: "/projects/:id/versions/:version/yank",
  who: { key: ["publish"] },
  summary: "Yank a version: it stays deployable by its label, and is no longer the latest",
  body: later(() => versionYankRequest.nullish()),
  ok: { 204: noContent },
} as const satisfies Route;

export const unyankVersion = {
  ...shared,
  method: "DELETE",
  path: "/projects/:id/versions/:version/yank",
  who: { key: ["publish"] },
  summary: "Take a yank back",
  ok: { 204: noContent },
} as const satisfies Route;

export const deprecateVersion = {
  ...shared,
  method: "POST",
  path: "/projects/:id/versions/:version/deprecation",
  who: { key: ["publish"] },
  summary: "Advise against a version: hosts that deploy it warn, and it stays the latest if it is",
  body: versionDeprecationRequest,
  ok: { 204: noContent },
} as const satisfies Route;

export const undeprecateVersion = {
  ...shared,
  method: "DELETE",
  path: "/projects/:id/versions/:version/deprecation",
  who: { key: ["publish"] },
  summary: "Take the advice against a version back",
  ok: { 204: noContent },
} as const satisfies Route;

export const releaseVersion = {
  ...shared,
  method: "POST",
  path: "/projects/:id/versions/:version/release",
  // A publisher's key must not end a hold of its own version.
  who: { key: ["projects"] },
  summary: "Open a held version to every host",
  description: "One that every host may have already stays as it is. 409 while its own rollout is live.",
  body: later(() => versionReleaseRequest.nullish()),
  ok: { 200: versionReleased },
  errors: [409],
} as const satisfies Route;

export const deleteVersion = {
  ...shared,
  method: "DELETE",
  path: "/projects/:id/versions/:version",
  who: { key: ["projects"] },
  summary: "Delete a version and its bytes; its label is never used again",
  query: versionDeletion,
  ok: { 204: noContent },
} as const satisfies Route;
