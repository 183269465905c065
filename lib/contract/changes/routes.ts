import * as z from "zod";
import { later } from "../later.ts";
import type { Route } from "../route.ts";
import { hintedTargets, marksAnswer, pollAnswer, pollRequest } from "../surfaces/changes.ts";

const shared = { mount: "deployments", tags: ["hints"] } as const;

export const followChanges = {
  ...shared,
  method: "GET",
  path: "/v1/changes",
  who: { key: ["deploy", "read"] },
  otherHosts: "none",
  load: "endless",
  summary: "Hints that targets may have another latest version, as server-sent events",
  description:
    "The stream names what the key may see. A comment every 15 seconds, or as X-Sealift-Beat asks, shows that it is alive.",
  query: later(() => z.object({ targets: hintedTargets })),
  ok: { 200: { description: "The stream.", content: { "text/event-stream": { schema: z.string() } } } },
  errors: [404],
} as const satisfies Route;

export const readMarks = {
  ...shared,
  method: "GET",
  path: "/v1/marks",
  who: { key: ["read"] },
  otherHosts: "none",
  summary: "A mark of each target, which is another one after every change of its versions, rollouts and fleet",
  description: "The fleet is that of the caller's owner, or the project's. Marks of one target are only compared.",
  query: later(() => z.object({ targets: hintedTargets.optional() })),
  ok: { 200: marksAnswer },
} as const satisfies Route;

export const pollTargets = {
  ...shared,
  method: "POST",
  path: "/v1/poll",
  who: { key: ["deploy", "read"] },
  otherHosts: "none",
  summary: "Which of many targets have another answer to “latest” than the caller knows",
  body: pollRequest,
  ok: { 200: pollAnswer },
} as const satisfies Route;
