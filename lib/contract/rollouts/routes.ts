import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import type { Route } from "../route.ts";
import { type RolloutAction, rolloutChange, rolloutRecord, rolloutRequest } from "./records.ts";

const shared = { mount: "devkeys", tags: ["rollouts"] } as const;

export const startRollout = {
  ...shared,
  method: "POST",
  path: "/projects/:id/rollouts",
  who: { key: ["publish", "projects"] },
  summary: "Start a rollout of a version, which may yet have to be published",
  body: rolloutRequest,
  ok: { 201: rolloutRecord },
  errors: [409],
} as const satisfies Route;

export const listRollouts = {
  ...shared,
  method: "GET",
  path: "/projects/:id/rollouts",
  who: { key: ["read", "publish", "projects"] },
  otherHosts: "left out",
  summary: "The rollouts of a project, plugin or service, newest first",
  query: pageQuery,
  ok: { 200: page(rolloutRecord) },
} as const satisfies Route;

export const showRollout = {
  ...shared,
  method: "GET",
  path: "/projects/:id/rollouts/:rollout",
  who: { key: ["read", "publish", "projects"] },
  otherHosts: "left out",
  summary: "A rollout, with its waves and the hosts that fail",
  ok: { 200: rolloutRecord },
} as const satisfies Route;

const change = {
  ...shared,
  method: "POST",
  who: { key: ["publish", "projects"] },
  body: later(() => rolloutChange.nullish()),
  ok: { 200: rolloutRecord },
  errors: [409],
} as const;

export const pauseRollout = {
  ...change,
  path: "/projects/:id/rollouts/:rollout/pause",
  summary: "Let no further host have the version for now",
} as const satisfies Route;

export const resumeRollout = {
  ...change,
  path: "/projects/:id/rollouts/:rollout/resume",
  summary: "Go on with a rollout that is paused or halted; failures so far no longer count",
} as const satisfies Route;

export const approveRollout = {
  ...change,
  path: "/projects/:id/rollouts/:rollout/approve",
  // A publisher's key must not approve its own version.
  who: { key: ["projects"] },
  summary: "Let the next wave open when its time has come, or let an empty one pass",
} as const satisfies Route;

export const abortRollout = {
  ...change,
  path: "/projects/:id/rollouts/:rollout/abort",
  summary: "End a rollout: no further host gets its version, and with rollback those that took it go back",
} as const satisfies Route;

/** Route of each action on a rollout. */
export const ACTION_ROUTES = {
  pause: pauseRollout,
  resume: resumeRollout,
  approve: approveRollout,
  abort: abortRollout,
} as const satisfies Record<RolloutAction, Route>;
