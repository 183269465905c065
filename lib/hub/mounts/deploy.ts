import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { noContent, notModified } from "../../contract/route.ts";
import {
  authAnswer,
  authorizeAnswer,
  authorizeRequest,
  authRequest,
  latestAnswer,
  locationAnswer,
  projectHost,
  projectReport,
  projectReportAnswer,
} from "../../contract/surfaces/deploy.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { fleetCounts, hostState, hostStateField, seenAtField, stepOutcome } from "../../contract/surfaces/reports.ts";
import { matchesEtag } from "../../support/network/entity-tags.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { authorizeDek } from "../access/authorize-dek.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import { requireOwnHost } from "../access/own-host.ts";
import type { ProjectAccessParts } from "../access/project-access.ts";
import { projectAccess } from "../access/project-access.ts";
import type { Blobs } from "../blobs/port.ts";
import { FleetNumbers } from "../fleets/fleet-numbers.ts";
import { FLEET_ROUTE, fleetQuery, hostDetail, noSuchHost, sendFleetView } from "../fleets/fleet-view.ts";
import { answerHost } from "../gate/host-answer.ts";
import { answerEtag, answerFields } from "../gate/latest.ts";
import { notFound, noVersion } from "../ground/errors.ts";
import { errors, security } from "../http/documentation.ts";
import { PATIENCE_OF_BEGUN_MS } from "../http/load-shedding.ts";
import type { Keyring } from "../keys/keyring.ts";
import { findArtifact } from "../records/artifacts.ts";
import { forgetHost } from "../records/host-rows.ts";
import type { ReportQueue } from "../records/report-queue.ts";
import { hostOfReport, storeProjectReport } from "../records/reports.ts";
import { SESSION_SECONDS } from "../records/sessions.ts";
import { hostOf, type Sightings } from "../records/sightings.ts";
import { marksOf } from "../records/versions.ts";

const tags = ["deploy hub"];

const projectParams = z.object({ project_id: z.string() });
const hostParams = projectParams.extend({ host_id: z.string().max(255) });

/** The parts of the hub that deployments from projects need. */
export interface DeployParts extends ProjectAccessParts {
  blobs: Blobs;
  keyring: Keyring;
  downloadUrls: DownloadUrls;
  publicUrl: () => string;
  reports: ReportQueue;
  sightings: Sightings;
}

/** Surface B without publishing: sessions, latest version, location, authorisation, reports, the project's fleet. */
export const deploy: FastifyPluginAsyncZod<MountOptions<DeployParts>> = async (app, options) => {
  const { hub } = options;
  const { statements } = hub.database;

  const access = projectAccess(options);
  const numbers = new FleetNumbers(statements);
  const askedFleet = (target: string) => ({ view: { holder: "", target }, now: hub.clock() });

  app.post("/v1/auth", {
    schema: {
      tags,
      summary: "Open a session for one project",
      body: authRequest,
      response: { 200: authAnswer, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request) {
      const { xdevkey, project_id: projectId } = request.body;
      const { token, name } = await access.openSession(request, xdevkey, projectId);
      return { access_token: token, expires_in: SESSION_SECONDS, project_name: name };
    },
  });

  app.get("/v1/projects/:project_id/versions/latest", {
    schema: {
      tags,
      summary: "The latest version of the project",
      security: security.session,
      params: projectParams,
      response: { 200: latestAnswer, 304: notModified, ...errors(401, 403, 404) },
    },
    // Agents poll this: the session, its key and the answer are one indexed statement.
    async handler(request, reply) {
      const { project_id: target } = request.params;
      const session = await access.session(request, target, "deploy", "read");
      const view = { holder: "", target };
      hub.sightings.note(request, view);
      const answer = answerHost(hub, session, request, { view, isOwners: true });
      const { version } = answer;
      if (version === null) throw noVersion(session);
      const etag = answerEtag(answer);
      void reply.header("etag", etag).header("cache-control", "private, no-cache");
      // Nothing at all: the length of a 304 is that of the answer it stands for (RFC 9110, 8.6).
      if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send(undefined as never);
      return reply.send({ version, ...answerFields(answer) });
    },
  });

  app.get("/v1/projects/:project_id/artifacts/:version", {
    config: { patienceMs: PATIENCE_OF_BEGUN_MS },
    schema: {
      tags,
      summary: "Where the artifact of a version is, and its signature",
      security: security.session,
      params: projectParams.extend({ version: z.string() }),
      response: { 200: locationAnswer, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const { project_id: projectId, version } = request.params;
      const { principal } = await access.session(request, projectId, "deploy", "read");
      const found = await findArtifact(statements, projectId, version);
      if (found === undefined) throw notFound("The project has no such version.");
      const { artifact, deltas } = found;
      const { is_yanked, yanked_reason, ...said } = marksOf(artifact);
      const isMirrored = HEADERS.mirrored.toLowerCase() in request.headers;
      const urlOf = async (id: string): Promise<string> =>
        (isMirrored ? undefined : await hub.blobs.directUrl?.(id, hub.downloadUrls.lifetimeMs)) ??
        hub.publicUrl() + hub.downloadUrls.create(id, principal.keyId, hub.clock());
      return {
        download_url: await urlOf(artifact.id),
        signature: artifact.signature,
        signer_public_key: artifact.signer_public_key,
        artifact_sha256: artifact.sha256,
        content_sha256: artifact.content_sha256!,
        size_bytes: artifact.size_bytes,
        ...(is_yanked && { is_yanked, yanked_reason }),
        ...said,
        ...(deltas.length > 0 && {
          deltas: await Promise.all(
            deltas.map(async (delta) => ({
              base_version: delta.base_version,
              base_content_sha256: delta.base_content_sha256!,
              download_url: await urlOf(delta.id),
              signature: delta.signature,
              signer_public_key: delta.signer_public_key,
              size_bytes: Number(delta.size_bytes),
            })),
          ),
        }),
      };
    },
  });

  app.post("/v1/deployments/authorize", {
    config: { patienceMs: PATIENCE_OF_BEGUN_MS },
    schema: {
      tags,
      summary: "The data-encryption key of an artifact, for a live deployment credential",
      security: security.session,
      body: authorizeRequest,
      response: { 200: authorizeAnswer, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request) {
      const { deployment_credential: deploymentCredential, artifact_signature: artifactSignature } = request.body;
      const dek = await authorizeDek(options, request, { deploymentCredential, artifactSignature });
      return { dek: dek.toString("base64") };
    },
  });

  app.post("/v1/deployments/report", {
    config: { patienceMs: PATIENCE_OF_BEGUN_MS },
    schema: {
      tags,
      summary: "Report a deployment; the same deployment_id again changes nothing",
      security: security.session,
      body: projectReport,
      response: { 200: projectReportAnswer, ...errors(400, 401, 403, 415, 422) },
    },
    async handler(request) {
      const report = request.body;
      const { principal } = await access.session(request, report.project_id, "report");
      requireOwnHost(principal, hostOfReport(report));
      const deploymentId = await storeProjectReport(hub.reports, report, {
        now: hub.clock(),
        named: hostOf(request.headers),
      });
      return { deployment_id: deploymentId };
    },
  });

  app.route({
    method: ["GET", "HEAD"],
    url: "/v1/projects/:project_id/hosts",
    schema: {
      tags,
      summary: "The project's fleet: each host's newest record, keyed by host id",
      description: FLEET_ROUTE,
      security: security.keyOrSession,
      params: projectParams,
      querystring: fleetQuery,
      response: {
        200: z.record(z.string(), projectHost.extend({ seen_at: seenAtField, state: hostStateField })),
        304: notModified,
        ...errors(401, 403, 404, 422),
      },
    },
    async handler(request, reply) {
      const { project_id: target } = request.params;
      await access.readable(request, target);
      return sendFleetView(request, reply, statements, request.query, askedFleet(target));
    },
  });

  app.get("/v1/projects/:project_id/hosts/:host_id", {
    schema: {
      tags,
      summary: "One host: its newest record, with its state and the steps and plugins of its last report",
      security: security.keyOrSession,
      params: hostParams,
      response: {
        200: projectHost.extend({
          ...{ seen_at: seenAtField, state: hostState, steps: z.array(stepOutcome) },
          plugins: z.array(z.record(z.string(), z.unknown())).optional(),
        }),
        ...errors(401, 403, 404),
      },
    },
    async handler(request, reply) {
      const { project_id: target, host_id: host } = request.params;
      await access.readable(request, target);
      return reply.send((await hostDetail(statements, askedFleet(target), host)) as never);
    },
  });

  app.get("/v1/projects/:project_id/fleet", {
    schema: {
      tags,
      summary: "The project's fleet in numbers: its hosts by state and by version, and their labels",
      security: security.keyOrSession,
      params: projectParams,
      response: { 200: fleetCounts, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const { project_id: target } = request.params;
      await access.readable(request, target);
      const { view, now } = askedFleet(target);
      return numbers.count(view, now);
    },
  });

  app.delete("/v1/projects/:project_id/hosts/:host_id", {
    schema: {
      tags,
      summary: "Forget a host of the project's fleet, until it reports again",
      security: security.key,
      params: hostParams,
      response: { 204: noContent, ...errors(401, 403, 404) },
    },
    async handler(request, reply) {
      const { project_id: target, host_id: host } = request.params;
      const principal = await access.manageable(request, target);
      await audited(hub, request, principal, async (transaction, tell) => {
        if (!(await forgetHost(transaction, { holder: "", target }, host))) throw noSuchHost();
        await tell({ action: "host.forget", subject: target, facts: { host_id: host } });
      });
      return reply.code(204).send(null);
    },
  });
};
