import * as z from "zod";
import { detailFacts, fleetFacts } from "../facts/host.ts";
import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import { noContent, notModified, type Route } from "../route.ts";
import { projectHost } from "../surfaces/deploy.ts";
import { labels } from "../surfaces/labels.ts";
import { marketplaceKind, reportRecord } from "../surfaces/marketplace.ts";
import { fleetCounts, fleetSummary } from "../surfaces/reports.ts";
import { fleetAdoption } from "./adoption.ts";
import { FLEET_ROUTE, fleetQuery } from "./query.ts";

const ofProject = { mount: "deploy", tags: ["deploy hub"] } as const;
const projectHostParams = later(() => z.object({ project_id: z.string(), host_id: z.string().max(255) }));

export const listProjectHosts = {
  otherHosts: "named",
  ...ofProject,
  method: "GET",
  head: true,
  path: "/v1/projects/:project_id/hosts",
  who: { keyOrSession: ["read"] },
  summary: "The project's fleet: each host's newest record, keyed by host id",
  description: FLEET_ROUTE,
  query: fleetQuery,
  ok: {
    200: later(() => z.record(z.string(), projectHost.extend(fleetFacts))),
    304: notModified,
  },
} as const satisfies Route;

export const showProjectHost = {
  ...ofProject,
  method: "GET",
  path: "/v1/projects/:project_id/hosts/:host_id",
  who: { keyOrSession: ["read"] },
  otherHosts: "none",
  summary: "One host: its newest record, with its state and the steps and plugins of its last report",
  params: projectHostParams,
  ok: {
    200: later(() =>
      projectHost.extend({
        ...detailFacts,
        plugins: z.array(z.record(z.string(), z.unknown())).optional(),
      }),
    ),
  },
} as const satisfies Route;

export const countProjectFleet = {
  ...ofProject,
  method: "GET",
  path: "/v1/projects/:project_id/fleet",
  who: { keyOrSession: ["read"] },
  otherHosts: "left out",
  summary: "The project's fleet in numbers: its hosts by state and by version, and their labels",
  ok: { 200: fleetCounts },
} as const satisfies Route;

export const showProjectAdoption = {
  ...ofProject,
  method: "GET",
  path: "/v1/projects/:project_id/adoption",
  who: { keyOrSession: ["read"] },
  otherHosts: "none",
  summary: "The project's hosts by version, and those that failed, day by day",
  ok: { 200: fleetAdoption },
} as const satisfies Route;

export const forgetProjectHost = {
  ...ofProject,
  method: "DELETE",
  path: "/v1/projects/:project_id/hosts/:host_id",
  who: { key: ["projects"] },
  summary: "Forget a host of the project's fleet, until it reports again",
  params: projectHostParams,
  ok: { 204: noContent },
} as const satisfies Route;

const ofTarget = { mount: "deployments", tags: ["deployments"] } as const;
const targetParams = later(() => z.object({ kind: marketplaceKind, slug: z.string() }));
const targetHostParams = later(() => targetParams.extend({ host_id: z.string().max(255) }));

export const listTargetHosts = {
  otherHosts: "named",
  ...ofTarget,
  method: "GET",
  head: true,
  path: "/deployments/:kind/:slug/hosts",
  who: { key: ["read"] },
  summary: "Which version runs where: each host's newest record, keyed by host id",
  description: FLEET_ROUTE,
  params: targetParams,
  query: fleetQuery,
  ok: {
    200: later(() => z.record(z.string(), reportRecord.extend(fleetFacts))),
    304: notModified,
  },
} as const satisfies Route;

export const showTargetHost = {
  ...ofTarget,
  method: "GET",
  path: "/deployments/:kind/:slug/hosts/:host_id",
  who: { key: ["read"] },
  otherHosts: "none",
  summary: "One host: its newest record, with its state and the steps of its last report",
  params: targetHostParams,
  ok: {
    200: later(() => reportRecord.extend(detailFacts)),
  },
} as const satisfies Route;

export const countTargetFleet = {
  ...ofTarget,
  method: "GET",
  path: "/deployments/:kind/:slug/fleet",
  who: { key: ["read"] },
  otherHosts: "left out",
  summary: "The fleet in numbers: its hosts by state and by version, and their labels",
  params: targetParams,
  ok: { 200: fleetCounts },
} as const satisfies Route;

export const showTargetAdoption = {
  ...ofTarget,
  method: "GET",
  path: "/deployments/:kind/:slug/adoption",
  who: { key: ["read"] },
  otherHosts: "none",
  summary: "The hosts by version, and those that failed, day by day",
  params: targetParams,
  ok: { 200: fleetAdoption },
} as const satisfies Route;

export const forgetTargetHost = {
  ...ofTarget,
  method: "DELETE",
  path: "/deployments/:kind/:slug/hosts/:host_id",
  who: { key: ["projects"] },
  summary: "Forget a host of the own fleet, until it reports again",
  params: targetHostParams,
  ok: { 204: noContent },
} as const satisfies Route;

export const listFleets = {
  ...ofTarget,
  method: "GET",
  path: "/deployments/fleets",
  who: { key: ["read"] },
  otherHosts: "none",
  summary: "The fleets that the key may see: of its owner's reports, and of the projects that it controls",
  query: pageQuery,
  ok: { 200: page(fleetSummary) },
} as const satisfies Route;

export const serveHost = {
  mount: "devkeys",
  tags: ["rollouts"],
  method: "PUT",
  path: "/projects/:id/hosts/:host_id/service",
  who: { key: ["projects"] },
  summary: "Take a host of the fleet out of service, so that no rollout counts it or waits for it; null takes it back",
  params: later(() => z.object({ id: z.string(), host_id: z.string().max(255) })),
  body: later(() => z.strictObject({ out_of_service: z.string().trim().min(1).max(256).nullable() })),
  ok: { 204: noContent },
} as const satisfies Route;

export const labelHost = {
  mount: "devkeys",
  tags: ["rollouts"],
  method: "PUT",
  path: "/projects/:id/hosts/:host_id/labels",
  who: { key: ["projects"] },
  summary: "Give a host of the fleet labels in place of its own; null takes that back",
  params: later(() => z.object({ id: z.string(), host_id: z.string().max(255) })),
  body: later(() => z.strictObject({ labels: labels.nullable() })),
  ok: { 204: noContent },
} as const satisfies Route;
