import type { FastifyRequest } from "fastify";
import type { ReportRecord, TargetDetail } from "../../contract/surfaces/marketplace.ts";
import { type MarketplaceKind, paths } from "../../contract/surfaces/paths.ts";
import type { FleetSummary, StepOutcome } from "../../contract/surfaces/reports.ts";
import { ROLLOUT_ACTIONS, type RolloutAction, type RolloutRecord } from "../../contract/surfaces/rollouts.ts";
import { forbidden, HubError, notFound } from "../ground/errors.ts";
import { controls, may } from "../ground/principal.ts";
import type { View } from "../records/fleet.ts";
import { findAnswer, findOwnership } from "../records/projects.ts";
import { loggedTarget } from "../records/reports.ts";
import { findHost } from "../records/rollout-hosts.ts";
import { unlessHidden } from "./api.ts";
import { type Desk, field, param, principalOf, queryOf, type Screen } from "./desk.ts";
import { FleetPage, FleetsPage, type ListedFleet } from "./fleet-page.tsx";
import { filtered, pageOfHosts } from "./fleets.ts";
import { HostPage } from "./host-page.tsx";
import type { Watched } from "./live.ts";
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

/** Finds a target whose fleet or rollouts are shown. @throws HubError 404 for one that the key may not see */
async function named({ api, hub }: Desk, request: FastifyRequest, kind: TargetKind): Promise<Named> {
  const principal = principalOf(request);
  const slug = param(request, "slug");
  if (kind === "project") {
    const found = await findOwnership(hub.database.statements, slug);
    if (found?.kind !== "project" || !controls(principal, found)) throw notFound("There is no such project.");
    const latest = (await findAnswer(hub.database.statements, slug))?.latestVersion ?? "";
    return { kind, slug, id: slug, name: found.name, latest };
  }
  const detail = await api.ask<TargetDetail>(request, { path: paths.detail(kind, slug) });
  if (detail === undefined) return { kind, slug, id: undefined, name: slug, latest: "" };
  return { kind, slug, id: detail.id, name: detail.name, latest: detail.latest_version };
}

/** Returns the view of a fleet, if the route of the API lets this key see it. @throws HubError 403, 404 */
async function visibleView({ api }: Desk, request: FastifyRequest, kind: TargetKind): Promise<View> {
  const slug = param(request, "slug");
  const path = kind === "project" ? paths.projectHosts(slug) : paths.hosts(kind, slug);
  const { status } = await api.send(request, { method: "HEAD", path });
  if (status === 403 && kind !== "project") throw forbidden("The key may not see fleets: it lacks the scope read.");
  if (status === 403 || status === 404) throw notFound(`There is no such ${kind}, or none that the key may see.`);
  if (status >= 400) throw new HubError(status, "hub_unavailable", "The fleet cannot be read now.");
  return viewOf(request, kind, slug);
}

const viewOf = (request: FastifyRequest, kind: TargetKind, slug: string): View =>
  kind === "project"
    ? { holder: "", target: slug }
    : { holder: principalOf(request).owner, target: loggedTarget(kind, slug) };

/** Names the fleet and project whose changes an open page of a target follows. */
export async function watchedTarget(desk: Desk, request: FastifyRequest, kind: TargetKind): Promise<Watched> {
  const view = await visibleView(desk, request, kind);
  return { views: [view], projectId: (await named(desk, request, kind)).id };
}

/** Names the fleets that an open page of all fleets follows: those of its first page. */
export async function watchedFleets({ api }: Desk, request: FastifyRequest): Promise<Watched> {
  const { items } = await api.page<FleetSummary>(request, paths.fleets(), { limit: PAGE_FLEETS });
  return { views: items.map((each) => viewOfFleet(request, each).view), projectId: undefined };
}

/** Returns the view of a fleet that the API has listed for this key. */
function viewOfFleet(request: FastifyRequest, { target }: FleetSummary) {
  const at = target.indexOf(":");
  const [kind, slug] = [target.slice(0, at) as TargetKind, target.slice(at + 1)];
  return { kind, slug, view: viewOf(request, kind, slug) };
}

export const fleet =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const view = await visibleView(desk, request, kind);
    const { slug, name, latest } = await named(desk, request, kind);
    const hosts = await desk.fleets.hosts(view);
    const [version, label] = [queryOf(request, "version"), queryOf(request, "label")];
    const filter = { version, label, state: queryOf(request, "state"), text: queryOf(request, "q") };
    const now = desk.hub.clock();
    const found = filtered(hosts, filter, now);
    const after = queryOf(request, "after");
    const { shown, next } = pageOfHosts(found, { after, limit: HOSTS, now });
    return <FleetPage {...{ kind, slug, name, latest, hosts, shown, found: found.length, filter, after, next }} />;
  };

export const host =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const view = await visibleView(desk, request, kind);
    const { slug, name } = await named(desk, request, kind);
    const id = param(request, "host");
    const shown = await desk.fleets.host(view, id);
    const row = await findHost(desk.hub.database.statements, view, id);
    if (shown === undefined || row === undefined) throw notFound("The fleet has no such host.");
    const record = JSON.parse(row.record) as {
      error_message: string | null;
      plugins?: Record<string, unknown>[];
    };
    const text = (value: unknown): string => (typeof value === "string" ? value : "");
    const plugins = (record.plugins ?? []).map((plugin) => ({
      name: text(plugin["id"]) || text(plugin["name"]),
      version: text(plugin["version"]),
    }));
    const steps = row.steps === null ? [] : (JSON.parse(row.steps) as StepOutcome[]);
    const history = kind === "project" ? undefined : await reportsOf(desk, request, kind);
    const mayForget = may(principalOf(request), "projects");
    return (
      <HostPage
        {...{ kind, slug, name, host: shown, error: record.error_message, steps, plugins, history, mayForget }}
      />
    );
  };

/** Reads the reports of a host; undefined where the key may not read them. */
async function reportsOf({ api }: Desk, request: FastifyRequest, kind: MarketplaceKind) {
  const path = paths.hosts(kind, param(request, "slug")).replace(/hosts$/, "reports");
  return unlessHidden(api.page<ReportRecord>(request, path, { host_id: param(request, "host"), limit: "20" }));
}

export const forget =
  (kind: TargetKind): Screen =>
  async ({ api }, request) => {
    const [slug, id] = [param(request, "slug"), param(request, "host")];
    const path = kind === "project" ? paths.projectHost(slug, id) : paths.host(kind, slug, id);
    await api.call(request, { method: "DELETE", path });
    return { goTo: pagePaths.fleet(kind, slug) };
  };

export const allFleets: Screen = async (desk, request) => {
  const listed = await desk.api.page<FleetSummary>(request, paths.fleets(), { limit: PAGE_FLEETS });
  const { items, next, cursor } = listed;
  const fleets: ListedFleet[] = [];
  for (const summary of items) {
    const { kind, slug, view } = viewOfFleet(request, summary);
    const isCounted = summary.hosts <= COUNTED_HOSTS;
    const detail =
      kind === "project" ? undefined : await desk.api.ask<TargetDetail>(request, { path: paths.detail(kind, slug) });
    const hosts = isCounted ? await desk.fleets.hosts(view) : undefined;
    const answer = kind === "project" ? await findAnswer(desk.hub.database.statements, slug) : undefined;
    const latest = detail?.latest_version ?? answer?.latestVersion ?? "";
    fleets.push({ kind, slug, name: detail?.name ?? summary.name ?? slug, count: summary.hosts, latest, hosts });
  }
  return <FleetsPage {...{ fleets, cursor, next }} />;
};

export const rollouts =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const principal = principalOf(request);
    const { slug, id, name, latest } = await named(desk, request, kind);
    if (id === undefined) throw notFound(`There is no such ${kind}, or none that the key may see.`);
    const found = await desk.api.page<RolloutRecord>(request, paths.rollouts(id), { limit: "20" });
    const mayChange = may(principal, "publish", "projects");
    const allowed = ROLLOUT_ACTIONS.filter((action) => (action === "approve" ? may(principal, "projects") : mayChange));
    return <RolloutsPage {...{ kind, slug, name, latest, allowed, ...found }} />;
  };

const isAction = (text: string): text is RolloutAction => (ROLLOUT_ACTIONS as readonly string[]).includes(text);

/** Pauses, resumes, approves or aborts a rollout. */
export const actOnRollout =
  (kind: TargetKind): Screen =>
  async (desk, request) => {
    const { slug, id } = await named(desk, request, kind);
    const action = param(request, "action");
    if (id === undefined || !isAction(action)) throw notFound("There is no such rollout.");
    const reason = field(request, "reason");
    const rollback = field(request, "rollback") === "yes";
    await desk.api.call(request, {
      method: "POST",
      path: `${paths.rollout(id, param(request, "rollout"))}/${action}`,
      json: { ...(reason !== undefined && { reason }), ...(rollback && { rollback }) },
    });
    return { goTo: pagePaths.rollouts(kind, slug) };
  };
