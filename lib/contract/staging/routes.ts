import { page, pageQuery } from "../paging.ts";
import { noContent, type Route } from "../route.ts";
import {
  approvalAnswer,
  approvalRequest,
  approvalRule,
  rejectionRequest,
  stagedVersion,
  stagingOutcome,
} from "./staging.ts";

const shared = { mount: "devkeys", tags: ["staging"] } as const;

export const listStaged = {
  ...shared,
  method: "GET",
  path: "/staging",
  who: { key: ["publish", "stage"] },
  summary: "The versions that wait for approval, oldest first",
  description: "A key that may only stage sees what it has staged itself.",
  query: pageQuery,
  ok: { 200: page(stagedVersion) },
} as const satisfies Route;

export const showStaged = {
  ...shared,
  method: "GET",
  path: "/staging/:id/:version",
  who: { key: ["publish", "stage"] },
  summary: "One version that waits for approval",
  ok: { 200: stagedVersion },
} as const satisfies Route;

export const showOutcome = {
  ...shared,
  method: "GET",
  path: "/staging/:id/:version/outcome",
  who: { key: ["publish", "stage"] },
  summary: "Whether a version that was staged still waits, or is published; 404 once it is rejected or removed",
  description: "A key that may only stage asks about what it has staged itself.",
  ok: { 200: stagingOutcome },
} as const satisfies Route;

export const approveStaged = {
  ...shared,
  method: "POST",
  path: "/staging/approve",
  who: { key: ["publish"] },
  summary: "Approve staged versions by their digests, and with that publish them: all of them, or none",
  description: "The approver is another key, another person and another workflow run than what staged them.",
  body: approvalRequest,
  ok: { 200: approvalAnswer },
  errors: [404, 409],
} as const satisfies Route;

export const rejectStaged = {
  ...shared,
  method: "POST",
  path: "/staging/:id/:version/reject",
  who: { key: ["publish", "stage"] },
  summary: "Reject a staged version: its bytes are removed, and its label is free again",
  body: rejectionRequest,
  ok: { 204: noContent },
} as const satisfies Route;

export const requireApproval = {
  ...shared,
  method: "PUT",
  path: "/projects/:id/approval",
  who: { key: ["projects"] },
  summary: "Require approval of new versions of a project, plugin or service, or no longer",
  body: approvalRule,
  ok: { 200: approvalRule },
} as const satisfies Route;
