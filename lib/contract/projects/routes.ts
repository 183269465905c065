import { page, pageQuery } from "../paging.ts";
import type { Route } from "../route.ts";
import {
  createProjectRequest,
  projectChanges,
  projectDeletion,
  projectDeletionQuery,
  projectRecord,
  transferAnswer,
  transferRequest,
} from "../surfaces/keys.ts";

const shared = { mount: "devkeys", tags: ["key service"] } as const;

export const createProject = {
  ...shared,
  method: "POST",
  path: "/projects",
  who: { key: ["projects"], boundRefusal: "A key that is bound to a project creates no others." },
  summary: "Create a project, plugin or service",
  body: createProjectRequest,
  ok: { 201: projectRecord },
  errors: [409],
} as const satisfies Route;

export const listProjects = {
  ...shared,
  method: "GET",
  path: "/projects",
  who: { key: ["projects", "read", "publish"] },
  otherHosts: "none",
  summary: "List the own projects, plugins and services",
  query: pageQuery,
  ok: { 200: page(projectRecord) },
} as const satisfies Route;

export const showProject = {
  ...shared,
  method: "GET",
  path: "/projects/:id",
  who: { key: ["read", "projects", "publish"] },
  otherHosts: "none",
  summary: "One project, plugin or service",
  ok: { 200: projectRecord },
} as const satisfies Route;

export const renameProject = {
  ...shared,
  method: "PATCH",
  path: "/projects/:id",
  who: { key: ["projects"] },
  summary: "Rename a project, plugin or service; its id and slug stay",
  body: projectChanges,
  ok: { 200: projectRecord },
  errors: [409],
} as const satisfies Route;

export const transferProject = {
  ...shared,
  method: "POST",
  path: "/projects/:id/transfer",
  who: { key: ["admin"] },
  summary: "Give a project, plugin or service to another owner",
  description:
    "For administrators. Keys that are bound to it are revoked, unless keep_keys makes them the new owner's.",
  body: transferRequest,
  ok: { 200: transferAnswer },
  errors: [409],
} as const satisfies Route;

export const showDeletion = {
  ...shared,
  method: "GET",
  path: "/projects/:id/deletion",
  who: { key: ["admin"] },
  summary: "What the deletion of a project, plugin or service would take",
  ok: { 200: projectDeletion },
} as const satisfies Route;

export const deleteProject = {
  ...shared,
  method: "DELETE",
  path: "/projects/:id",
  who: { key: ["admin"] },
  summary: "Delete a project, plugin or service with its versions, keys, rollouts and fleet",
  description:
    "For administrators. 409 with the code project_in_use while hosts report to it, unless force is true. The slug " +
    "of a plugin or service is never used again.",
  query: projectDeletionQuery,
  ok: { 200: projectDeletion },
  errors: [409],
} as const satisfies Route;
