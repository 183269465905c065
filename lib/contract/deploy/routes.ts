import { notModified, type Route } from "../route.ts";
import {
  authAnswer,
  authorizeAnswer,
  authorizeRequest,
  authRequest,
  latestAnswer,
  locationAnswer,
  projectReport,
  projectReportAnswer,
} from "../surfaces/deploy.ts";

const shared = { mount: "deploy", tags: ["deploy hub"] } as const;

export const openSession = {
  ...shared,
  method: "POST",
  path: "/v1/auth",
  // The key is in the body.
  who: { everyone: true },
  otherHosts: "none",
  summary: "Open a session for one project",
  body: authRequest,
  ok: { 200: authAnswer },
  errors: [401, 403, 404],
} as const satisfies Route;

export const showLatest = {
  ...shared,
  method: "GET",
  path: "/v1/projects/:project_id/versions/latest",
  who: { session: ["deploy", "read"] },
  otherHosts: "none",
  summary: "The latest version of the project",
  ok: { 200: latestAnswer, 304: notModified },
} as const satisfies Route;

export const locateArtifact = {
  ...shared,
  method: "GET",
  path: "/v1/projects/:project_id/artifacts/:version",
  who: { session: ["deploy", "read"] },
  otherHosts: "none",
  load: "begun",
  summary: "Where the artifact of a version is, and its signature",
  ok: { 200: locationAnswer },
} as const satisfies Route;

export const authorizeDeployment = {
  ...shared,
  method: "POST",
  path: "/v1/deployments/authorize",
  who: { session: ["deploy"] },
  otherHosts: "none",
  load: "begun",
  summary: "The data-encryption key of an artifact, for a live deployment credential",
  body: authorizeRequest,
  ok: { 200: authorizeAnswer },
  errors: [404],
} as const satisfies Route;

export const reportProject = {
  ...shared,
  method: "POST",
  path: "/v1/deployments/report",
  who: { session: ["report"] },
  otherHosts: "none",
  load: "begun",
  summary: "Report a deployment; the same deployment_id again changes nothing",
  body: projectReport,
  ok: { 200: projectReportAnswer },
} as const satisfies Route;
