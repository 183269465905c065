import type { FastifyRequest } from "fastify";
import type { ProjectRecord } from "../../contract/surfaces/keys.ts";
import type { TargetDetail, TargetSummary, VersionRecord } from "../../contract/surfaces/marketplace.ts";
import { type MarketplaceKind, MOUNTS, paths } from "../../contract/surfaces/paths.ts";
import { controlledProject } from "../access/project-access.ts";
import { notFound } from "../ground/errors.ts";
import { controls, may } from "../ground/principal.ts";
import { deltasOf } from "../records/deltas.ts";
import { listManagedVersions, publishersOf } from "../records/managed-versions.ts";
import type { Listed } from "./api.ts";
import { CataloguePage } from "./catalogue-page.tsx";
import { ComparePage } from "./compare-page.tsx";
import { type Desk, field, param, queryOf, type Screen } from "./desk.ts";
import { ProjectsPage } from "./operator-pages.tsx";
import { ProjectPage, TargetPage } from "./target-page.tsx";
import { pagePaths, type TargetKind } from "./view.ts";

const CARDS = "30";
const VERSIONS = 25;

const listOf = (kind: MarketplaceKind): string =>
  kind === "plugin" ? `${MOUNTS.plugins}/plugins` : `${MOUNTS.services}/services`;

export const catalogue: Screen = async ({ api }, request) => {
  const kind = queryOf(request, "kind") === "service" ? "service" : "plugin";
  const text = queryOf(request, "q").slice(0, 200);
  const found = await api.page<TargetSummary>(request, listOf(kind), { q: text, limit: CARDS });
  return <CataloguePage {...{ kind, text, ...found }} />;
};

const detailOf = ({ api }: Desk, request: FastifyRequest, kind: MarketplaceKind): Promise<TargetDetail> =>
  api.call(request, { path: paths.detail(kind, param(request, "slug")) });

/** The page of a plugin or service. */
export const target =
  (kind: MarketplaceKind): Screen =>
  async (desk, request) => {
    const { api } = desk;
    const detail = await detailOf(desk, request, kind);
    const path = `${paths.detail(kind, detail.slug)}/versions`;
    const { principal } = request.visitor!;
    // Without a key, the detail record has the newest ones.
    const listed =
      principal === undefined
        ? { items: detail.versions, next: null, cursor: queryOf(request, "cursor") }
        : await api.page<VersionRecord>(request, path, { limit: String(VERSIONS) });
    const { items: versions, next, cursor } = listed;
    const latest = detail.versions.find(({ version }) => version === detail.latest_version);
    const contents =
      latest && (await (await desk.archives()).contents(request, { kind, slug: detail.slug, ...latest }));
    // The names of keys are their owner's.
    const isOwn = principal !== undefined && controls(principal, detail);
    const mayYank = isOwn && may(principal, "publish");
    const mayRelease = isOwn && may(principal, "projects");
    const labels = versions.map(({ version }) => version);
    const publishers = isOwn ? await publishersOf(desk.hub.database.kysely, detail, labels) : undefined;
    // Only these pages need the parser.
    const { Readme } = await import("./readme.tsx");
    const readme = contents?.readme === undefined ? undefined : <Readme text={contents.readme} />;
    return <TargetPage {...{ detail, versions, publishers, cursor, next, contents, readme, mayYank, mayRelease }} />;
  };

/** The page of what changed between two versions. */
export const compare =
  (kind: MarketplaceKind): Screen =>
  async (desk, request) => {
    const detail = await detailOf(desk, request, kind);
    const [from, to] = [queryOf(request, "from"), queryOf(request, "to")];
    const path = `${paths.detail(kind, detail.slug)}/versions`;
    const { items } = await desk.api.call<Listed<VersionRecord>>(request, { path, query: { limit: "200" } });
    const find = async (label: string) => {
      const found = [...items, ...detail.versions].find(({ version }) => version === label);
      if (found === undefined) throw notFound(`The ${kind} has no such version.`);
      return (await desk.archives()).contents(request, { kind, slug: detail.slug, ...found });
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
    const path =
      kind === "project"
        ? paths.versionYank(slug, version)
        : `${paths.detail(kind, slug)}/versions/${encodeURIComponent(version)}/yank`;
    const json = { reason: field(request, "reason") ?? null };
    await api.call(request, { path, ...(action === "yank" ? { method: "POST", json } : { method: "DELETE" }) });
    return { goTo: pagePaths.target(kind, slug) };
  };

/** Opens a held version to every host. */
export const release =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const [slug, version] = [param(request, "slug"), field(request, "version") ?? ""];
    const id = kind === "project" ? slug : (await detailOf(desk, request, kind)).id;
    const json = { reason: field(request, "reason") || null };
    await desk.api.call(request, { path: paths.versionRelease(id, version), method: "POST", json });
    return { goTo: pagePaths.target(kind, slug) };
  };

export const projects: Screen = async ({ api }, request) => {
  return <ProjectsPage {...await api.page<ProjectRecord>(request, paths.projects(), { limit: "100" })} />;
};

/** The page of a project of surface B. */
export const project: Screen = async ({ hub, authentication }, request) => {
  const find = controlledProject({ hub, authentication });
  const { project: found, principal } = await find(request, param(request, "slug"), "read", "projects", "publish");
  if (found.kind !== "project") return { goTo: pagePaths.target(found.kind, found.slug) };
  const cursor = queryOf(request, "cursor");
  const rows = await listManagedVersions(hub.database.kysely, found, { after: cursor, limit: VERSIONS + 1 });
  const versions = rows.slice(0, VERSIONS).map(async ({ id, record }) => ({
    ...record,
    deltas: (await deltasOf(hub.database.statements, id)).map(({ base_version, size_bytes }) => ({
      base_version,
      size_bytes: Number(size_bytes),
    })),
  }));
  const labels = rows.map(({ record }) => record.version);
  return (
    <ProjectPage
      project={found}
      publishers={await publishersOf(hub.database.kysely, found, labels)}
      versions={await Promise.all(versions)}
      cursor={cursor}
      next={rows.length > VERSIONS ? rows[VERSIONS - 1]!.id : null}
      mayYank={may(principal, "publish")}
      mayRelease={may(principal, "projects")}
    />
  );
};
