import type { FastifyRequest } from "fastify";
import * as market from "../../contract/marketplace/routes.ts";
import * as routes from "../../contract/projects/routes.ts";
import type { ManagedVersion } from "../../contract/surfaces/keys.ts";
import type { TargetDetail } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { listVersions, releaseVersion, unyankVersion, yankVersion } from "../../contract/versions/routes.ts";
import { notFound } from "../../hub/ground/errors.ts";
import { may } from "../../hub/ground/principal.ts";
import { callTo } from "../page/api.ts";
import { field, type PageContext, param, principalOf, queryOf, type Screen } from "../page/context.ts";
import { pagePaths, type TargetKind } from "../page/view.ts";
import { CataloguePage } from "./catalogue-page.tsx";
import { ComparePage } from "./compare-page.tsx";
import { ProjectPage } from "./project-page.tsx";
import { ProjectsPage } from "./projects-page.tsx";
import { TargetPage } from "./target-page.tsx";

const CARDS = "30";
const VERSIONS = 25;
/** Versions that a comparison looks among. */
const MOST_VERSIONS = 200;

export const catalogue: Screen = async ({ api }, request) => {
  const kind = queryOf(request, "kind") === "service" ? "service" : "plugin";
  const text = queryOf(request, "q").slice(0, 200);
  const order = queryOf(request, "sort") === "newest" ? "newest" : "name";
  const query = { q: text, sort: order, count: "true", limit: CARDS };
  const cursor = queryOf(request, "cursor");
  const found = await api.call(request, callTo(market.listTargets[kind], { query: { ...query, cursor } }));
  return <CataloguePage {...{ kind, text, order, cursor, ...found }} />;
};

const detailOf = ({ api }: PageContext, request: FastifyRequest, kind: MarketplaceKind): Promise<TargetDetail> =>
  api.call(request, callTo(market.showTarget[kind], { params: { slug: param(request, "slug") } }));

/** The call for versions of a plugin or service. */
const versionsOf = (kind: MarketplaceKind, slug: string, limit: number) =>
  callTo(market.listTargetVersions[kind], { params: { slug }, query: { limit: String(limit) } });

/** The page of a plugin or service. */
export const target =
  (kind: MarketplaceKind): Screen =>
  async (context, request) => {
    const { api } = context;
    const detail = await detailOf(context, request, kind);
    const { principal } = request.visitor!;
    // Without a key, the detail record has the newest ones.
    const listed =
      principal === undefined
        ? { items: detail.versions, next: null, cursor: queryOf(request, "cursor") }
        : await api.page(request, versionsOf(kind, detail.slug, VERSIONS));
    const { items: versions, next, cursor } = listed;
    const latest = detail.versions.find(({ version }) => version === detail.latest_version);
    const contents =
      latest && (await (await context.archives()).contents(request, { kind, slug: detail.slug, ...latest }));
    // The names of keys are their owner's: the same page of versions, as those who manage it see them.
    const managed = principal && (await api.ask(request, managedVersions(detail.id, cursor)));
    const publishers = managed && publishersOf(managed.items);
    const mayYank = managed !== undefined && may(principal!, "publish");
    const mayRelease = managed !== undefined && may(principal!, "projects");
    // Only these pages need the parser.
    const { Readme } = await import("./readme.tsx");
    const readme = contents?.readme === undefined ? undefined : <Readme text={contents.readme} />;
    return <TargetPage {...{ detail, versions, publishers, cursor, next, contents, readme, mayYank, mayRelease }} />;
  };

/** The page of what changed between two versions. */
export const compare =
  (kind: MarketplaceKind): Screen =>
  async (context, request) => {
    const detail = await detailOf(context, request, kind);
    const [from, to] = [queryOf(request, "from"), queryOf(request, "to")];
    const { items } = await context.api.call(request, versionsOf(kind, detail.slug, MOST_VERSIONS));
    const find = async (label: string) => {
      const found = [...items, ...detail.versions].find(({ version }) => version === label);
      if (found === undefined) throw notFound(`The ${kind} has no such version.`);
      return (await context.archives()).contents(request, { kind, slug: detail.slug, ...found });
    };
    const [before, after] = [await find(from), await find(to)];
    const contents = before !== undefined && after !== undefined ? { before, after } : undefined;
    return <ComparePage {...{ detail, from, to, contents }} />;
  };

/** Yanks a version, or takes that back. */
export const yank =
  (kind: TargetKind, action: "yank" | "unyank"): Screen =>
  async ({ api }, request) => {
    const [slug, version] = [param(request, "slug"), field(request, "version") ?? ""];
    const body = action === "yank" ? { reason: field(request, "reason") ?? null } : undefined;
    if (kind === "project") {
      const route = action === "yank" ? yankVersion : unyankVersion;
      await api.call(request, callTo(route, { params: { id: slug, version }, body }));
    } else {
      const route = action === "yank" ? market.yankTargetVersion[kind] : market.unyankTargetVersion[kind];
      await api.call<unknown>(request, callTo(route, { params: { slug, version }, body }));
    }
    return { goTo: pagePaths.target(kind, slug) };
  };

/** Opens a held version to every host. */
export const release =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const [slug, version] = [param(request, "slug"), field(request, "version") ?? ""];
    const id = kind === "project" ? slug : (await detailOf(context, request, kind)).id;
    const body = { reason: field(request, "reason") || null };
    await context.api.call(request, callTo(releaseVersion, { params: { id, version }, body }));
    return { goTo: pagePaths.target(kind, slug) };
  };

export const projects: Screen = async ({ api }, request) => {
  const principal = principalOf(request);
  const mayCreate = may(principal, "projects") && principal.projectId === null;
  const found = await api.page(request, callTo(routes.listProjects, { query: { limit: "100" } }));
  return <ProjectsPage {...found} mayCreate={mayCreate} />;
};

/** Creates a project, plugin or service, and goes to its page. */
export const createProject: Screen = async ({ api }, request) => {
  const [name, kind, slug] = [field(request, "name") ?? "", field(request, "kind"), field(request, "slug")];
  const body = { name, kind, ...(slug !== undefined && { slug }) };
  const created = await api.call(request, callTo(routes.createProject, { body }));
  return { goTo: pagePaths.target(created.kind, created.kind === "project" ? created.id : created.slug) };
};

/** The page of a project of surface B. */
export const project: Screen = async ({ api }, request) => {
  const found = await api.call(request, callTo(routes.showProject, { params: { id: param(request, "slug") } }));
  if (found.kind !== "project") return { goTo: pagePaths.target(found.kind, found.slug) };
  const cursor = queryOf(request, "cursor");
  const { items: versions, next } = await api.call(request, managedVersions(found.id, cursor));
  const principal = principalOf(request);
  const [mayYank, mayRelease] = [may(principal, "publish"), may(principal, "projects")];
  const publishers = publishersOf(versions);
  return <ProjectPage {...{ project: found, versions, publishers, cursor, next, mayYank, mayRelease }} />;
};

/** The call for one page of a target's versions. */
const managedVersions = (id: string, cursor: string) =>
  callTo(listVersions, { params: { id }, query: { limit: String(VERSIONS), cursor } });

/** Returns the names of the keys that have published versions, and of those that have approved them, by version. */
const publishersOf = (versions: readonly ManagedVersion[]): ReadonlyMap<string, string> =>
  new Map(
    versions.flatMap(({ version, published_by: by = null, approved_by: approver = null }) =>
      by === null ? [] : [[version, approver === null ? by : `${by}, approved by ${approver}`] as const],
    ),
  );
