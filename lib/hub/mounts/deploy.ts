import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import {
  authAnswer,
  authorizeAnswer,
  authorizeRequest,
  authRequest,
  latestAnswer,
  locationAnswer,
  projectHost,
  type ProjectReport,
  projectReport,
  projectReportAnswer,
} from "../../contract/surfaces/deploy.ts";
import type { Scope } from "../../contract/surfaces/keys.ts";
import { hashOf, recordId } from "../access/credentials.ts";
import { controls, isAdministrator, requireScope } from "../access/principal.ts";
import { errors, type MountOptions, notModified, security } from "../http/documentation.ts";
import { forbidden, HubError, keyRejected, notFound } from "../http/errors.ts";
import { fleetQuery, sendFleetView } from "../http/fleet-view.ts";
import { matchesEtag } from "../http/ranges.ts";
import { dekContext } from "../keys/sealing.ts";
import { findKey, type Session } from "../records/access.ts";
import { findArtifact, findAuthorization, readSealedDek } from "../records/artifacts.ts";
import { findProject } from "../records/projects.ts";
import { storeReport } from "../records/reports.ts";
import { openSession, SESSION_SECONDS } from "../records/sessions.ts";

const tags = ["deploy hub"];
const projectParams = z.object({ project_id: z.string() });
/** A host that names itself in no report. */
const DEFAULT_HOST = "default";

function hostRecordOf(report: ProjectReport, deploymentId: string, createdAt: string): z.infer<typeof projectHost> {
  return {
    host_id: report.host_id ?? DEFAULT_HOST,
    deployment_id: deploymentId,
    version: report.version,
    status: report.rolled_back === true ? "rolled_back" : report.status,
    error_message: report.error_message ?? null,
    started_at: report.started_at,
    completed_at: report.completed_at,
    created_at: createdAt,
  };
}

/** Surface B without publishing: sessions, latest version, location, authorisation, reports, the project's fleet. */
export const deploy: FastifyPluginAsyncZod<MountOptions> = async (app, { hub, authentication }) => {
  const { kysely: db, statements } = hub.database;

  /** @throws 401 without a live session, 403 when it is another project's or its key lacks the scope */
  async function sessionFor(request: FastifyRequest, projectId: string, ...scopes: Scope[]): Promise<Session> {
    const session = await authentication.session(request);
    if (session.projectId !== projectId) throw forbidden("The session belongs to another project.");
    requireScope(session.principal, ...scopes);
    return session;
  }

  app.post("/v1/auth", {
    schema: {
      tags,
      summary: "Open a session for one project",
      body: authRequest,
      response: { 200: authAnswer, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request) {
      const { xdevkey, project_id: projectId } = request.body;
      const principal = await findKey(statements, hashOf(xdevkey), hub.now());
      if (principal === undefined) throw await authentication.rejected(request, keyRejected());
      requireScope(principal, "deploy", "report", "read");
      const project = await findProject(db, projectId);
      if (project?.kind !== "project" || !controls(principal, project)) {
        if (isAdministrator(principal)) throw notFound("There is no such project.");
        throw forbidden("The key is not for this project.");
      }
      const token = await openSession(db, { keyId: principal.keyId, projectId }, hub.clock());
      return { access_token: token, expires_in: SESSION_SECONDS };
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
      const { latestVersion: version } = await sessionFor(request, request.params.project_id, "deploy", "read");
      if (version === null) throw new HubError(404, "no_version", "No version has been published yet.");
      const etag = `"${version}"`;
      void reply.header("etag", etag).header("cache-control", "private, no-cache");
      if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send(null);
      return reply.send({ version });
    },
  });

  app.get("/v1/projects/:project_id/artifacts/:version", {
    schema: {
      tags,
      summary: "Where the artifact of a version is, and its signature",
      security: security.session,
      params: projectParams.extend({ version: z.string() }),
      response: { 200: locationAnswer, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const { project_id: projectId, version } = request.params;
      await sessionFor(request, projectId, "deploy", "read");
      const artifact = await findArtifact(statements, projectId, version);
      if (artifact === undefined) throw notFound("The project has no such version.");
      const direct = await hub.blobs.directUrl?.(artifact.id, hub.downloadUrls.lifetime);
      return {
        download_url: direct ?? hub.downloadUrls.create(hub.publicUrl(), artifact.id, hub.clock()),
        signature: artifact.signature,
        signer_public_key: artifact.signer_public_key,
        artifact_sha256: artifact.artifact_sha256,
        content_sha256: artifact.content_sha256,
        size_bytes: artifact.size_bytes,
      };
    },
  });

  app.post("/v1/deployments/authorize", {
    schema: {
      tags,
      summary: "The data-encryption key of an artifact, for a live deployment credential",
      security: security.session,
      body: authorizeRequest,
      response: { 200: authorizeAnswer, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request) {
      const { principal, projectId } = await authentication.session(request);
      requireScope(principal, "deploy");
      const { deployment_credential: secret, artifact_signature: base64 } = request.body;
      const signature = Buffer.from(base64, "base64").toString("base64");
      const { artifactId, credential } = await findAuthorization(db, {
        projectId,
        credentialHash: hashOf(secret),
        signature,
      });
      if (
        credential === undefined ||
        credential.revokedAt !== null ||
        (credential.expiresAt !== null && credential.expiresAt <= hub.now())
      ) {
        const error = forbidden("The deployment credential is unknown, revoked or has expired.");
        throw await authentication.rejected(request, error);
      }
      if (artifactId === undefined) throw notFound("No artifact of the project has this signature.");
      const context = dekContext(projectId, artifactId);
      const dek = await hub.keyring.open(() => readSealedDek(db, artifactId), context);
      if (dek === undefined) throw notFound("No artifact of the project has this signature.");
      return { dek: dek.toString("base64") };
    },
  });

  app.post("/v1/deployments/report", {
    schema: {
      tags,
      summary: "Report a deployment; the same deployment_id again changes nothing",
      security: security.session,
      body: projectReport,
      response: { 200: projectReportAnswer, ...errors(400, 401, 403, 415, 422) },
    },
    async handler(request) {
      const report = request.body;
      await sessionFor(request, report.project_id, "report");
      const id = recordId("dpl", hub.clock());
      const deploymentId = report.deployment_id === "" ? id : report.deployment_id;
      const createdAt = hub.now();
      const hostRecord = hostRecordOf(report, deploymentId, createdAt);
      await storeReport(db, {
        id,
        holder: "",
        target: report.project_id,
        hostId: hostRecord.host_id,
        version: report.version,
        status: hostRecord.status,
        deploymentId,
        record: { id, project_id: report.project_id, ...hostRecord, plugins: report.plugins },
        hostRecord,
        createdAt,
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
      description: "Streamed in host-id order. X-Cursor in the answer is the value for the next `since`.",
      security: security.keyOrSession,
      params: projectParams,
      querystring: fleetQuery,
      response: { 200: z.record(z.string(), projectHost), 304: notModified, ...errors(401, 403, 404, 422) },
    },
    async handler(request, reply) {
      const { project_id: target } = request.params;
      const { principal, projectId } = await authentication.sessionOrKey(request);
      requireScope(principal, "read");
      if (projectId !== null && projectId !== target) throw forbidden("The key or session is for another project.");
      if (projectId === null) {
        const project = await findProject(db, target);
        if (project?.kind !== "project" || !controls(principal, project)) {
          if (isAdministrator(principal)) throw notFound("There is no such project.");
          throw forbidden("The key is not for this project.");
        }
      }
      return sendFleetView(request, reply, statements, { holder: "", target }, { since: request.query.since });
    },
  });
};
