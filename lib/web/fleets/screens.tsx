import type { FastifyRequest } from "fastify";
import * as routes from "../../contract/fleets/routes.ts";
import { listReports } from "../../contract/reports/routes.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { parseTarget } from "../../contract/target.ts";
import { forbidden, HubError, notFound } from "../../hub/ground/errors.ts";
import { may } from "../../hub/ground/principal.ts";
import { type ApiCall, callTo, unlessHidden } from "../page/api.ts";
import { type PageContext, param, principalOf, queryOf, type Screen } from "../page/context.ts";
import { named } from "../page/named-target.ts";
import { pagePaths, type TargetKind } from "../page/view.ts";
import { FleetPage, FleetsPage, type ListedFleet } from "./fleet-page.tsx";
import {
  type HostDetail,
  hostOf,
  hostsCall,
  readAdoption,
  readCounts,
  readHosts,
  readTrouble,
  troubleOf,
} from "./fleets.ts";
import { HostPage } from "./host-page.tsx";

const HOSTS = 100;
const PAGE_FLEETS = "20";
/** A fleet with more hosts is not counted on the page of all fleets. */
const COUNTED_HOSTS = 5000;

/** Requires that the route of the API shows this key a fleet. @throws HubError 403, 404 */
async function requireFleet(
  { api }: PageContext,
  request: FastifyRequest,
  kind: TargetKind,
  slug: string,
): Promise<void> {
  const { status } = await api.send(request, { ...hostsCall(kind, slug), method: "HEAD" });
  if (status === 403 && kind !== "project") throw forbidden("The key may not see fleets: it lacks the scope read.");
  if (status === 403 || status === 404) throw notFound(`There is no such ${kind}, or none that the key may see.`);
  if (status >= 400) throw new HubError(status, "hub_unavailable", "The fleet cannot be read now.");
}

/** Names the target whose changes an open page of it follows. */
export async function watchedTarget(
  context: PageContext,
  request: FastifyRequest,
  kind: TargetKind,
): Promise<string[]> {
  const slug = param(request, "slug");
  await requireFleet(context, request, kind, slug);
  return [`${kind}:${slug}`];
}

/** Names the fleets that an open page of all fleets follows: those of its first page. */
export async function watchedFleets({ api }: PageContext, request: FastifyRequest): Promise<string[]> {
  const { items } = await api.page(request, callTo(routes.listFleets, { query: { limit: PAGE_FLEETS } }));
  return items.map(({ target }) => target);
}

export const fleet =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const slug = param(request, "slug");
    await requireFleet(context, request, kind, slug);
    const { name, latest } = await named(context, request, kind, slug);
    const [version, label] = [queryOf(request, "version"), queryOf(request, "label")];
    const filter = { version, label, state: queryOf(request, "state"), text: queryOf(request, "q") };
    const after = queryOf(request, "after");
    const counts = await readCounts(context.api, request, kind, slug);
    const { shown, next } = await readHosts(context.api, request, { kind, slug, filter, after, limit: HOSTS });
    // The days of a larger fleet take longer to read than its page may.
    const isSmall = counts.hosts <= COUNTED_HOSTS;
    const adoption = isSmall ? await readAdoption(context.api, request, kind, slug) : undefined;
    return <FleetPage {...{ kind, slug, name, latest, counts, adoption, shown, filter, after, next }} />;
  };

export const host =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const slug = param(request, "slug");
    await requireFleet(context, request, kind, slug);
    const { name } = await named(context, request, kind, slug);
    const id = param(request, "host");
    const asked: ApiCall =
      kind === "project"
        ? callTo(routes.showProjectHost, { params: { project_id: slug, host_id: id } })
        : callTo(routes.showTargetHost, { params: { kind, slug, host_id: id } });
    const detail = (await context.api.call(request, asked)) as HostDetail;
    const text = (value: unknown): string => (typeof value === "string" ? value : "");
    const plugins = (detail.plugins ?? []).map((plugin) => ({
      name: text(plugin["id"]) || text(plugin["name"]),
      version: text(plugin["version"]),
    }));
    const { error_message: error, steps } = detail;
    const history = kind === "project" ? undefined : await reportsOf(context, request, kind);
    const mayForget = may(principalOf(request), "projects");
    return <HostPage {...{ kind, slug, name, host: hostOf(id, detail), error, steps, plugins, history, mayForget }} />;
  };

/** Reads the reports of a host; undefined where the key may not read them. */
async function reportsOf({ api }: PageContext, request: FastifyRequest, kind: MarketplaceKind) {
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

export const allFleets: Screen = async (context, request) => {
  const listed = await context.api.page(request, callTo(routes.listFleets, { query: { limit: PAGE_FLEETS } }));
  const { items, next, cursor } = listed;
  const fleets: ListedFleet[] = [];
  for (const { target, name: given, hosts: count } of items) {
    const { kind, slug } = parseTarget(target);
    const counts = count <= COUNTED_HOSTS ? await readCounts(context.api, request, kind, slug) : undefined;
    const trouble = counts === undefined ? await readTrouble(context.api, request, kind, slug) : troubleOf(counts);
    const found = await unlessHidden(named(context, request, kind, slug));
    fleets.push({
      kind,
      slug,
      name: given ?? found?.name ?? slug,
      count,
      latest: found?.latest ?? "",
      trouble,
      counts,
    });
  }
  fleets.sort((a, b) => Number(b.trouble.failing > 0) - Number(a.trouble.failing > 0));
  return <FleetsPage {...{ fleets, cursor, next }} />;
};
