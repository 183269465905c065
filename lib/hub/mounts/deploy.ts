import { agentIn } from "../../contract/agent-version.ts";
import * as routes from "../../contract/deploy/routes.ts";
import * as fleets from "../../contract/fleets/routes.ts";
import type { ProjectHost } from "../../contract/surfaces/deploy.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { matchesEtag } from "../../support/network/entity-tags.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { authorizeDek } from "../access/authorize-dek.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import { countsFor, requireOwnHost } from "../access/own-host.ts";
import type { ProjectAccess, ProjectAccessParts, ProjectRequest } from "../access/project-access.ts";
import { projectAccess } from "../access/project-access.ts";
import { serve, type Served, serveRaw } from "../access/serve.ts";
import { notFound, noVersion } from "../base/errors.ts";
import type { Blobs } from "../blobs/port.ts";
import { fleetAdoptions } from "../fleets/adoption.ts";
import { fleetNumbers } from "../fleets/fleet-numbers.ts";
import { hostDetail, noSuchHost, sendFleetView } from "../fleets/fleet-view.ts";
import { answerHost } from "../gate/host-answer.ts";
import { answerEtag, answerFields } from "../gate/latest.ts";
import type { Keyring } from "../keys/keyring.ts";
import { findArtifact, locatedFacts } from "../records/artifacts.ts";
import { claimedLabels } from "../records/host-headers.ts";
import { forgetHost } from "../records/host-rows.ts";
import { hostOfReport, storeProjectReport } from "../records/received-reports.ts";
import type { ReportQueue } from "../records/report-queue.ts";
import { SESSION_SECONDS } from "../records/sessions.ts";
import { followedRootIn, hostOf, type Sightings } from "../records/sightings.ts";

/** Parts of the hub that deployments from projects need. */
export interface DeployParts extends ProjectAccessParts {
  blobs: Blobs;
  keyring: Keyring;
  downloadUrls: DownloadUrls;
  publicUrl: () => string;
  reports: ReportQueue;
  sightings: Sightings;
}

/**
 * Routes of surface B except publishing: sessions, latest version, location, authorization, reports, and the project's
 * fleet.
 */
export function deploy(options: MountOptions<DeployParts>): readonly Served[] {
  const { hub } = options;
  const { statements } = hub.database;

  const access = projectAccess(options);
  const numbers = fleetNumbers(statements);
  const adoptions = fleetAdoptions(statements);
  const askedFleet = (target: string) => ({ view: { holder: "", target }, now: hub.clock() });
  const session = (request: ProjectRequest, scopes: Parameters<ProjectAccess["session"]>[2]) =>
    access.session(request, request.params.project_id, scopes);

  return [
    serve(routes.openSession, async (request) => {
      const { xdevkey, project_id: projectId } = request.body;
      const { token, name } = await access.openSession(request, xdevkey, projectId);
      return { access_token: token, expires_in: SESSION_SECONDS, project_name: name };
    }),

    // Agents poll this: session, key and answer are one indexed statement.
    serveRaw(routes.showLatest, session, async (request, reply, found) => {
      const { project_id: target } = request.params;
      const view = { holder: "", target };
      hub.sightings.note(request, view, found.principal);
      const answer = answerHost(hub, found, request, { view, isOwners: true });
      const { version } = answer;
      if (version === null) throw noVersion(found, answerFields(answer));
      const etag = answerEtag(answer);
      void reply.header("etag", etag).header("cache-control", "private, no-cache");
      // No body at all: the length of a 304 is that of the answer it stands for (RFC 9110, 8.6).
      if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send();
      return reply.send({ version, ...answerFields(answer) });
    }),

    serve(routes.locateArtifact, session, async (request, { principal, rootVersion }) => {
      const { project_id: projectId, version } = request.params;
      const found = await findArtifact(statements, projectId, version, principal);
      if (found === undefined) throw notFound("The project has no such version.");
      const { artifact, deltas } = found;
      const isMirrored = HEADERS.mirrored.toLowerCase() in request.headers;
      const urlOf = async (id: string): Promise<string> =>
        (isMirrored ? undefined : await hub.blobs.directUrl?.(id, hub.downloadUrls.lifetimeMs)) ??
        hub.publicUrl() + hub.downloadUrls.create(id, principal.keyId, hub.clock());
      return {
        download_url: await urlOf(artifact.id),
        ...locatedFacts(artifact, rootVersion),
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
    }),

    serve(routes.authorizeDeployment, async (request, { projectId, principal }) => {
      const { deployment_credential: deploymentCredential, artifact_signature: artifactSignature } = request.body;
      const dek = await authorizeDek(options, request, {
        ...{ projectId, deploymentCredential, artifactSignature, principal },
      });
      return { dek: dek.toString("base64") };
    }),

    serve(
      routes.reportProject,
      (request, scopes) => access.session(request, request.body.project_id, scopes),
      async (request, { principal }) => {
        const report = request.body;
        requireOwnHost(principal, hostOfReport(report));
        const deploymentId = await storeProjectReport(hub.reports, report, {
          now: hub.clock(),
          named: hostOf(request.headers),
          labels: claimedLabels(request.headers),
          root: followedRootIn(request.headers),
          agent: agentIn(request.headers["user-agent"]),
          keyHost: principal.host,
        });
        return { deployment_id: deploymentId };
      },
    ),

    serveRaw(fleets.listProjectHosts, access.readable, async (request, reply) =>
      sendFleetView(request, reply, statements, request.query, askedFleet(request.params.project_id)),
    ),

    serve(fleets.showProjectHost, access.readable, async (request) => {
      const { project_id: target, host_id: host } = request.params;
      return hostDetail<ProjectHost>(statements, askedFleet(target), host);
    }),

    serve(fleets.countProjectFleet, access.readable, async (request, principal) => {
      const { view, now } = askedFleet(request.params.project_id);
      return countsFor(principal, await numbers.of(view, now));
    }),

    serve(fleets.showProjectAdoption, access.readable, async (request) => {
      const { view, now } = askedFleet(request.params.project_id);
      return adoptions.of(view, now);
    }),

    serve(fleets.forgetProjectHost, access.manageable, async (request, principal) => {
      const { project_id: target, host_id: host } = request.params;
      await audited(hub, request, { principal, projectIds: [target] }, async (transaction, tell) => {
        if (!(await forgetHost(transaction, { holder: "", target }, host))) throw noSuchHost();
        await tell({ action: "host.forget", subject: target, facts: { host_id: host } });
      });
    }),
  ];
}
