import type { FastifyRequest } from "fastify";
import * as routes from "../../contract/fleets/routes.ts";
import { showTarget } from "../../contract/marketplace/routes.ts";
import { showProject } from "../../contract/projects/routes.ts";
import { listReports } from "../../contract/reports/routes.ts";
import * as rolloutRoutes from "../../contract/rollouts/routes.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { ROLLOUT_ACTIONS, type RolloutAction } from "../../contract/surfaces/rollouts.ts";
import { parseTarget } from "../../contract/target.ts";
import { forbidden, HubError, notFound } from "../ground/errors.ts";
import { may } from "../ground/principal.ts";
import { type ApiCall, callTo, unlessHidden } from "./api.ts";
import { type Desk, field, param, principalOf, queryOf, type Screen } from "./desk.ts";
import { FleetPage, FleetsPage, type ListedFleet } from "./fleet-page.tsx";
import { type HostDetail, hostOf, hostsCall, readCounts, readHosts } from "./fleets.ts";
import { HostPage } from "./host-page.tsx";
import { RolloutsPage } from "./rollouts-page.tsx";
import { pagePaths, type TargetKind } from "./view.ts";

const HOSTS = 100;
const PAGE_FLEETS = "20";
/** A fleet with more hosts is not counted on the page of all fleets. */
const COUNTED_HOSTS = 5000;

/** A target, as far as the pages of its fleet and rollouts need it. */
interface Named {
  kind: TargetKind;
  slug: string;
  /** Of its record; undefined where the key may see its fleet and not the target. */
  id: string | undefined;
  name: string;
  latest: string;
}

/** Finds a target whose fleet or rollouts are shown. @throws HubError 404 for a project that the key may not see */
async function named({ api }: Desk, request: FastifyRequest, kind: TargetKind, slug: string): Promise<Named> {
  if (kind === "project") {
    const project = await api.call(request, callTo(showProject, { params: { id: slug } }));
    if (project.kind !== "project") throw notFound("There is no such project.");
    return { kind, slug, id: slug, name: project.name, latest: project.latest_version ?? "" };
  }
  const detail = await api.ask(request, callTo(showTarget[kind], { params: { slug } }));
  if (detail === undefined) return { kind, slug, id: undefined, name: slug, latest: "" };
  return { kind, slug, id: detail.id, name: detail.name, latest: detail.latest_version };
}

/** Requires that the route of the API shows this key a fleet. @throws HubError 403, 404 */
async function requireFleet({ api }: Desk, request: FastifyRequest, kind: TargetKind, slug: string): Promise<void> {
  const { status } = await api.send(request, { ...hostsCall(kind, slug), method: "HEAD" });
  if (status === 403 && kind !== "project") throw forbidden("The key may not see fleets: it lacks the scope read.");
  if (status === 403 || status === 404) throw notFound(`There is no such ${kind}, or none that the key may see.`);
  if (status >= 400) throw new HubError(status, "hub_unavailable", "The fleet cannot be read now.");
}

/** Names the target whose changes an open page of it follows. */
export async function watchedTarget(desk: Desk, request: FastifyRequest, kind: TargetKind): Promise<string[]> {
  const slug = param(request, "slug");
  await requireFleet(desk, request, kind, slug);
  return [`${kind}:${slug}`];
}

/** Names the fleets that an open page of all fleets follows: those of its first page. */
export async function watchedFleets({ api }: Desk, request: FastifyRequest): Promise<string[]> {
  const { items } = await api.page(request, callTo(routes.listFleets, { query: { limit: PAGE_FLEETS } }));
  return items.map(({ target }) => target);
}

export const fleet =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const slug = param(request, "slug");
    await requireFleet(desk, request, kind, slug);
    const { name, latest } = await named(desk, request, kind, slug);
    const [version, label] = [queryOf(request, "version"), queryOf(request, "label")];
    const filter = { version, label, state: queryOf(request, "state"), text: queryOf(request, "q") };
    const after = queryOf(request, "after");
    const counts = await readCounts(desk.api, request, kind, slug);
    const { shown, next } = await readHosts(desk.api, request, { kind, slug, filter, after, limit: HOSTS });
    return <FleetPage {...{ kind, slug, name, latest, counts, shown, filter, after, next }} />;
  };

export const host =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const slug = param(request, "slug");
    await requireFleet(desk, request, kind, slug);
    const { name } = await named(desk, request, kind, slug);
    const id = param(request, "host");
    const asked: ApiCall =
      kind === "project"
        ? callTo(routes.showProjectHost, { params: { project_id: slug, host_id: id } })
        : callTo(routes.showTargetHost, { params: { kind, slug, host_id: id } });
    const detail = (await desk.api.call(request, asked)) as HostDetail;
    const text = (value: unknown): string => (typeof value === "string" ? value : "");
    const plugins = (detail.plugins ?? []).map((plugin) => ({
      name: text(plugin["id"]) || text(plugin["name"]),
      version: text(plugin["version"]),
    }));
    const { error_message: error, steps } = detail;
    const history = kind === "project" ? undefined : await reportsOf(desk, request, kind);
    const mayForget = may(principalOf(request), "projects");
    return <HostPage {...{ kind, slug, name, host: hostOf(id, detail), error, steps, plugins, history, mayForget }} />;
  };

/** Reads the reports of a host; undefined where the key may not read them. */
async function reportsOf({ api }: Desk, request: FastifyRequest, kind: MarketplaceKind) {
  const params = { kind, slug: param(request, "slug") };
  const query = { host_id: param(request, "host"), limit: "20" };
  return unlessHidden(api.page(request, callTo(listReports, { params, query })));
}

export const forget =
  (kind: TargetKind): Screen =>
  async ({ api }, request) => {
    const [slug, id] = [param(request, "slug"), param(request, "host")];
    await api.call(
      request,
      kind === "project"
        ? callTo(routes.forgetProjectHost, { params: { project_id: slug, host_id: id } })
        : callTo(routes.forgetTargetHost, { params: { kind, slug, host_id: id } }),
    );
    return { goTo: pagePaths.fleet(kind, slug) };
  };

export const allFleets: Screen = async (desk, request) => {
  const listed = await desk.api.page(request, callTo(routes.listFleets, { query: { limit: PAGE_FLEETS } }));
  const { items, next, cursor } = listed;
  const fleets: ListedFleet[] = [];
  for (const { target, name: given, hosts: count } of items) {
    const { kind, slug } = parseTarget(target);
    const counts = count <= COUNTED_HOSTS ? await readCounts(desk.api, request, kind, slug) : undefined;
    const found = await unlessHidden(named(desk, request, kind, slug));
    fleets.push({ kind, slug, name: given ?? found?.name ?? slug, count, latest: found?.latest ?? "", counts });
  }
  return <FleetsPage {...{ fleets, cursor, next }} />;
};

export const rollouts =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const principal = principalOf(request);
    const { slug, id, name, latest } = await named(desk, request, kind, param(request, "slug"));
    if (id === undefined) throw notFound(`There is no such ${kind}, or none that the key may see.`);
    const found = await desk.api.page(
      request,
      callTo(rolloutRoutes.listRollouts, { params: { id }, query: { limit: "20" } }),
    );
    const mayChange = may(principal, "publish", "projects");
    const allowed = ROLLOUT_ACTIONS.filter((action) => (action === "approve" ? may(principal, "projects") : mayChange));
    return <RolloutsPage {...{ kind, slug, name, latest, allowed, ...found }} />;
  };

const isAction = (text: string): text is RolloutAction => (ROLLOUT_ACTIONS as readonly string[]).includes(text);

/** Pauses, resumes, approves or aborts a rollout. */
export const actOnRollout =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const { slug, id } = await named(desk, request, kind, param(request, "slug"));
    const action = param(request, "action");
    if (id === undefined || !isAction(action)) throw notFound("There is no such rollout.");
    const reason = field(request, "reason");
    const rollback = field(request, "rollback") === "yes";
    const params = { id, rollout: param(request, "rollout") };
    const body = { ...(reason !== undefined && { reason }), ...(rollback && { rollback }) };
    await desk.api.call(request, callTo(rolloutRoutes.ACTION_ROUTES[action], { params, body }));
    return { goTo: pagePaths.rollouts(kind, slug) };
  };
