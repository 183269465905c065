import { page } from "../paging.ts";
import { noContent, type Route } from "../route.ts";
import { MAX_UPLOAD_BYTES } from "./limits.ts";
import {
  cardUpload,
  hostSettings,
  outcomeUpload,
  ownSettings,
  settingsConflict,
  settingsQuery,
  settingsUpload,
  settingsUploaded,
} from "./records.ts";

const shared = { mount: "devkeys", tags: ["settings"] } as const;
const host = { ...shared, who: { key: ["deploy"] }, otherHosts: "none" } as const;

export const sendCard = {
  ...host,
  method: "PUT",
  path: "/projects/:id/host-card",
  summary: "A host's card: its public keys, signed",
  description: "The key must speak for one host. The hub checks the form alone: the operator verifies a card.",
  body: cardUpload,
  ok: { 204: noContent },
} as const satisfies Route;

export const readOwnSettings = {
  ...host,
  method: "GET",
  path: "/projects/:id/host-settings",
  summary: "The settings of the host whose key asks, sealed to it",
  description: "404 where nobody has made any: that takes no value away.",
  ok: { 200: ownSettings },
} as const satisfies Route;

export const sendOutcome = {
  ...host,
  method: "PUT",
  path: "/projects/:id/host-settings/outcome",
  summary: "What became of its settings on a host, signed by it",
  body: outcomeUpload,
  ok: { 204: noContent },
} as const satisfies Route;

export const listSettings = {
  ...shared,
  method: "GET",
  path: "/projects/:id/settings",
  who: { key: ["settings", "read"] },
  otherHosts: "named",
  summary: "Cards, numbers and outcomes of a project's hosts",
  query: settingsQuery,
  ok: { 200: page(hostSettings) },
} as const satisfies Route;

export const uploadSettings = {
  ...shared,
  method: "POST",
  path: "/projects/:id/settings",
  who: { key: ["settings"] },
  summary: "Upload settings for hosts, each sealed to its own",
  description: "All of them or none: 409 `settings_conflict` where one does not follow the number that the hub has.",
  body: settingsUpload,
  maxBody: MAX_UPLOAD_BYTES,
  ok: { 200: settingsUploaded },
  errors: [413],
  faults: { 409: settingsConflict },
} as const satisfies Route;

export const dropSettings = {
  ...shared,
  method: "DELETE",
  path: "/projects/:id/settings/:host",
  who: { key: ["settings"] },
  summary: "Forget the card and the settings of a host; the host keeps what it has",
  ok: { 204: noContent },
} as const satisfies Route;
