import { page, pageQuery } from "../paging.ts";
import { noContent, type Route } from "../route.ts";
import {
  hostRenaming,
  inviteRecord,
  inviteRequest,
  joinAnswer,
  joinedHost,
  joinedQuery,
  joinRequest,
  newInvite,
} from "./records.ts";

const shared = { mount: "devkeys", tags: ["joining"] } as const;
const managed = { ...shared, who: { key: ["keys"] } } as const;
const read = { ...shared, who: { key: ["keys", "read"] } } as const;

export const createInvite = {
  ...managed,
  method: "POST",
  path: "/projects/:id/host-invites",
  summary: "Invite hosts to a project; the token is shown once",
  body: inviteRequest,
  ok: { 201: newInvite },
} as const satisfies Route;

export const listInvites = {
  ...read,
  method: "GET",
  path: "/projects/:id/host-invites",
  otherHosts: "named",
  summary: "The invites of a project, newest first, without their tokens",
  query: pageQuery,
  ok: { 200: page(inviteRecord) },
} as const satisfies Route;

export const revokeInvite = {
  ...managed,
  method: "DELETE",
  path: "/projects/:id/host-invites/:invite",
  summary: "Revoke an invite: nobody joins with its token any more; hosts that have joined stay",
  ok: { 204: noContent },
} as const satisfies Route;

export const join = {
  ...shared,
  method: "POST",
  path: "/join",
  who: { everyone: true },
  otherHosts: "none",
  summary: "Join a project as a host, or ask again whether somebody has approved it",
  body: joinRequest,
  ok: { 200: joinAnswer },
  errors: [401, 403, 409],
  secret: ["token", "key", "deployment_credential"],
} as const satisfies Route;

export const listJoined = {
  otherHosts: "named",
  ...read,
  method: "GET",
  path: "/projects/:id/joined-hosts",
  summary: "The hosts of a project whose keys speak for them, and those that wait for approval",
  query: joinedQuery,
  ok: { 200: page(joinedHost) },
} as const satisfies Route;

export const approveHost = {
  ...managed,
  method: "POST",
  path: "/projects/:id/joined-hosts/:host/approve",
  summary: "Let a host in that waits for approval",
  ok: { 204: noContent },
  errors: [409],
} as const satisfies Route;

export const renameHost = {
  ...managed,
  method: "PATCH",
  path: "/projects/:id/joined-hosts/:host",
  summary: "Give a host another name, for which its keys speak from then on",
  body: hostRenaming,
  ok: { 204: noContent },
  errors: [409],
} as const satisfies Route;

export const removeHost = {
  ...managed,
  method: "DELETE",
  path: "/projects/:id/joined-hosts/:host",
  summary: "Remove a host: its keys end at once, and it leaves the fleet",
  ok: { 204: noContent },
} as const satisfies Route;
