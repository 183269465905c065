import { page } from "../paging.ts";
import { noContent, ofKinds, type Route } from "../route.ts";
import { MAX_KIT_UPLOAD_BYTES } from "./limits.ts";
import {
  archiveKitRequest,
  kitKey,
  kitRecord,
  kitReports,
  kitReportsTaken,
  kitsQuery,
  madeKit,
  projectKitRequest,
} from "./records.ts";

const shared = { mount: "devkeys", tags: ["kits"], otherHosts: "named" } as const;

export const makeProjectKit = {
  ...shared,
  method: "POST",
  path: "/projects/:id/kits",
  who: { key: ["deploy"] },
  summary: "Make a kit of a project's version: its key, sealed to each of the hosts",
  description: "This is the authorization of their deployments, for a live deployment credential.",
  body: projectKitRequest,
  secret: ["deployment_credential"],
  ok: { 201: madeKit },
} as const satisfies Route;

export const makeArchiveKit = ofKinds((kind) => ({
  mount: `${kind}s` as const,
  tags: ["kits"],
  otherHosts: "named",
  method: "POST",
  path: `/${kind}s/:slug/kits`,
  who: { key: ["deploy"] },
  summary: `Make a kit of a ${kind}'s version: the key of its sealed archive, sealed to each of the hosts`,
  body: archiveKitRequest,
  secret: ["key"],
  ok: { 201: madeKit },
}));

export const listKits = {
  ...shared,
  method: "GET",
  path: "/projects/:id/kits",
  who: { key: ["deploy", "read"] },
  summary: "The kits of a project, plugin or service, newest first",
  description: "Those of a project are also the kits of plugins and services for its hosts.",
  query: kitsQuery,
  ok: { 200: page(kitRecord) },
} as const satisfies Route;

export const showKitKey = {
  ...shared,
  otherHosts: "none",
  method: "GET",
  path: "/kits/key",
  who: { key: ["deploy", "read"] },
  summary: "The public key with which this hub signs kits; policies of hosts name it",
  ok: { 200: kitKey },
} as const satisfies Route;

export const endKit = {
  ...shared,
  method: "DELETE",
  path: "/projects/:id/kits/:kit",
  who: { key: ["deploy"] },
  summary: "End a kit at the hub; a stick that is under way is not reached",
  ok: { 204: noContent },
} as const satisfies Route;

export const submitKitReports = {
  ...shared,
  method: "POST",
  path: "/kits/reports",
  who: { key: ["report"] },
  summary: "Hand in reports of hosts without network, each signed by its host; each counts once",
  body: kitReports,
  maxBody: MAX_KIT_UPLOAD_BYTES,
  ok: { 200: kitReportsTaken },
  errors: [413],
} as const satisfies Route;
