import type { FastifyRequest } from "fastify";
import { currentSigners } from "../../../client/project-signers.ts";
import * as routes from "../../../contract/joining/routes.ts";
import { joinLine } from "../../../contract/joining/token.ts";
import { labelsIn } from "../../../contract/labels.ts";
import { showProject } from "../../../contract/projects/routes.ts";
import { listSigners } from "../../../contract/signers/routes.ts";
import { listVersions } from "../../../contract/versions/routes.ts";
import { notFound, unprocessable } from "../../../hub/ground/errors.ts";
import { may } from "../../../hub/ground/principal.ts";
import { callTo } from "../../page/api.ts";
import { field, type PageContext, param, principalOf, type Screen } from "../../page/context.ts";
import { HostsPage, INVITES_CURSOR, NewInvitePage } from "./page.tsx";
import { hostsPath } from "./paths.ts";

const HOUR_MS = 3_600_000;
/** A year. */
const MOST_HOURS = 8760;

/** Parameters of the routes of a project's hosts and invites. */
const paramsOf = (request: FastifyRequest) => ({ id: param(request, "slug") });
const hostOf = (request: FastifyRequest) => ({ ...paramsOf(request), host: param(request, "host") });

const done = (request: FastifyRequest) => ({ goTo: hostsPath(param(request, "slug")) });

async function projectOf({ api }: PageContext, request: FastifyRequest): Promise<{ id: string; name: string }> {
  const { id, name, kind } = await api.call(request, callTo(showProject, { params: paramsOf(request) }));
  if (kind !== "project") throw notFound("There is no such project.");
  return { id, name };
}

/** Lists the keys that hosts are to pin, as far as the visitor's key may see them. */
const signersOf = ({ api }: PageContext, request: FastifyRequest, projectId: string): Promise<string[]> =>
  currentSigners(
    {
      async *listSigners(id) {
        yield* (await api.ask(request, callTo(listSigners, { params: { id }, query: { limit: "200" } })))?.items ?? [];
      },
      async *listVersions(id) {
        yield* (await api.ask(request, callTo(listVersions, { params: { id }, query: { limit: "200" } })))?.items ?? [];
      },
    },
    projectId,
  );

export const joinedHosts: Screen = async (context, request) => {
  const { api } = context;
  const { id, name } = await projectOf(context, request);
  const asked = { params: { id } };
  const hosts = await api.page(request, callTo(routes.listJoined, { ...asked, query: { limit: "100" } }));
  const pending = callTo(routes.listJoined, { ...asked, query: { limit: "100", state: "pending" } });
  const waiting = (await api.call(request, pending)).items;
  const listed = callTo(routes.listInvites, { ...asked, query: { limit: "50" } });
  const invites = await api.page(request, listed, INVITES_CURSOR);
  const mayManage = may(principalOf(request), "keys");
  const signers = mayManage ? await signersOf(context, request, id) : [];
  return <HostsPage {...{ id, name, ...hosts, waiting, invites, mayManage, signers }} />;
};

/** Reads a whole number of a form. @throws HubError 422 for another text */
function numberIn(request: FastifyRequest, name: string, most: number): number {
  const text = field(request, name) ?? "";
  const count = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most) throw unprocessable(`${name}: must be a whole number from 1 to ${most}.`);
  return count;
}

/** Reads labels of a form. @throws HubError 422 for a word of another form */
function labelsOf(request: FastifyRequest) {
  const words = (field(request, "labels") ?? "").split(/[\s,]+/).filter((word) => word !== "");
  const labels = labelsIn(words.join(","));
  if (Object.keys(labels).length !== words.length)
    throw unprocessable("labels: must be NAME=VALUE, each name once, such as env=prod region=eu.");
  return labels;
}

export const inviteHosts: Screen = async (context, request) => {
  const project = await projectOf(context, request);
  const hours = numberIn(request, "hours", MOST_HOURS);
  const body = {
    uses: numberIn(request, "uses", 100_000),
    expires_at: new Date(context.hub.clock() + hours * HOUR_MS).toISOString(),
    labels: labelsOf(request),
    approve: field(request, "approve") !== undefined,
    signers: (field(request, "signers") ?? "").split(/[\s,]+/).filter((key) => key !== ""),
  };
  const invite = await context.api.call(request, callTo(routes.createInvite, { params: { id: project.id }, body }));
  return <NewInvitePage {...{ project, invite, line: joinLine(invite.token, invite.signers) }} />;
};

export const revokeInvite: Screen = async ({ api }, request) => {
  const params = { ...paramsOf(request), invite: param(request, "invite") };
  await api.call(request, callTo(routes.revokeInvite, { params }));
  return done(request);
};

export const approveHost: Screen = async ({ api }, request) => {
  await api.call(request, callTo(routes.approveHost, { params: hostOf(request) }));
  return done(request);
};

export const renameHost: Screen = async ({ api }, request) => {
  const body = { host_id: field(request, "host_id") ?? "" };
  await api.call(request, callTo(routes.renameHost, { params: hostOf(request), body }));
  return done(request);
};

export const removeHost: Screen = async ({ api }, request) => {
  await api.call(request, callTo(routes.removeHost, { params: hostOf(request) }));
  return done(request);
};
