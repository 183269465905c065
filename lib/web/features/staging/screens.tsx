import type { FastifyRequest } from "fastify";
import { showTarget } from "../../../contract/marketplace/routes.ts";
import { showProject } from "../../../contract/projects/routes.ts";
import * as routes from "../../../contract/staging/routes.ts";
import type { StagedVersion } from "../../../contract/staging/staging.ts";
import { parseTarget } from "../../../contract/target.ts";
import { notFound } from "../../../hub/ground/errors.ts";
import { may } from "../../../hub/ground/principal.ts";
import { callTo } from "../../page/api.ts";
import type { Contents } from "../../page/archive.ts";
import { field, type PageContext, param, principalOf, type Screen } from "../../page/context.ts";
import { named } from "../../page/named-target.ts";
import { pagePaths, type TargetKind } from "../../page/view.ts";
import { ApprovalPage } from "./approval-page.tsx";
import { StagedPage, StagingPage } from "./page.tsx";
import { approvalPath, stagingPath } from "./paths.ts";

export const staging: Screen = async ({ api }, request) => (
  <StagingPage {...await api.page(request, callTo(routes.listStaged, { query: { limit: "50" } }))} />
);

const stagedOf = ({ api }: PageContext, request: FastifyRequest): Promise<StagedVersion> =>
  api.call(
    request,
    callTo(routes.showStaged, { params: { id: param(request, "id"), version: param(request, "version") } }),
  );

/** The page of one version, with what differs from the one that hosts get. */
export const staged: Screen = async (context, request) => {
  const version = await stagedOf(context, request);
  return <StagedPage {...{ staged: version, ...(await comparisonOf(context, request, version)) }} />;
};

/** The contents of the latest version, if there is one, and those of a staged one; a project's are encrypted. */
async function comparisonOf(
  context: PageContext,
  request: FastifyRequest,
  version: StagedVersion,
): Promise<{ latest: string | undefined; before: Contents | undefined; after: Contents | undefined }> {
  const { kind, slug } = parseTarget(version.target);
  if (kind === "project") return { latest: undefined, before: undefined, after: undefined };
  const detail = await context.api.call(request, callTo(showTarget[kind], { params: { slug } }));
  const open = detail.versions.find(({ version: label }) => label === detail.latest_version);
  const read = await context.archives();
  return {
    latest: open?.version,
    before: open && (await read.contents(request, { kind, slug, ...open })),
    after: await read.contents(request, { kind, slug, ...version }),
  };
}

/** Approves the bytes that the page has shown. */
export const approve: Screen = async (context, request) => {
  const [project_id, version] = [param(request, "id"), param(request, "version")];
  const { target } = await stagedOf(context, request);
  const body = { versions: [{ project_id, version, sha256: field(request, "sha256") ?? "" }] };
  await context.api.call(request, callTo(routes.approveStaged, { body }));
  const { kind, slug } = parseTarget(target);
  return { goTo: pagePaths.target(kind, slug) };
};

export const reject: Screen = async ({ api }, request) => {
  const params = { id: param(request, "id"), version: param(request, "version") };
  await api.call(request, callTo(routes.rejectStaged, { params, body: { reason: field(request, "reason") ?? "" } }));
  return { goTo: stagingPath };
};

/** @throws HubError 404 */
async function idOf(context: PageContext, request: FastifyRequest, kind: TargetKind) {
  const { id, ...target } = await named(context, request, kind, param(request, "slug"));
  if (id === undefined) throw notFound(`There is no such ${kind}, or none that the key may see.`);
  return { ...target, id };
}

/** The page that says whether new versions of a target have to be approved. */
export const approval =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const { id, slug, name } = await idOf(context, request, kind);
    const { requires_approval: isRequired = false } = await context.api.call(
      request,
      callTo(showProject, { params: { id } }),
    );
    const mayChange = may(principalOf(request), "projects");
    return <ApprovalPage {...{ kind, slug, name, isRequired, mayChange }} />;
  };

export const requireApproval =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const { id, slug } = await idOf(context, request, kind);
    const body = { required: field(request, "required") === "yes" };
    await context.api.call(request, callTo(routes.requireApproval, { params: { id }, body }));
    return { goTo: approvalPath(kind, slug) };
  };
