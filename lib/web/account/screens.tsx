import { listAudit } from "../../contract/audit/routes.ts";
import { showReadiness } from "../../contract/health/routes.ts";
import { showHub } from "../../contract/hub/routes.ts";
import * as routes from "../../contract/keys/routes.ts";
import { listProjects } from "../../contract/projects/routes.ts";
import { SCOPES } from "../../contract/scopes.ts";
import { DEFAULT_SCOPES, type Scope } from "../../contract/surfaces/keys.ts";
import { notFound, unprocessable } from "../../hub/ground/errors.ts";
import { isAdministrator, may, requireScope } from "../../hub/ground/principal.ts";
import { type Api, type ApiCall, callTo, type Listed } from "../page/api.ts";
import { field, param, principalOf, queryOf, type Screen } from "../page/context.ts";
import { pagePaths } from "../page/view.ts";
import { KeysPage, NewKeyPage } from "./keys-page.tsx";
import { AuditPage, HealthPage, type Readiness } from "./operator-pages.tsx";

const DAY_MS = 86_400_000;
/** A century: a key that lasts longer may as well have no end. */
const MOST_DAYS = 36_500;

/** Returns when a key of so many days ends; undefined for one that never does. @throws HubError 422 for another text */
function expiryOf(days: string | undefined, now: number): string | undefined {
  if (days === undefined) return undefined;
  const count = /^[0-9]{1,5}$/.test(days) ? Number(days) : 0;
  if (count < 1 || count > MOST_DAYS)
    throw unprocessable(`days: must be a whole number from 1 to ${MOST_DAYS}, or empty for a key that never expires.`);
  return new Date(now + count * DAY_MS).toISOString();
}

export const keys: Screen = async ({ api }, request) => {
  const principal = principalOf(request);
  requireScope(principal, "keys");
  const found = await api.page(request, callTo(routes.listKeys, { query: { limit: "50" } }));
  const own = await api.ask(request, callTo(listProjects, { query: { limit: "200" } }));
  const scopes = SCOPES.filter((scope) => may(principal, scope));
  return <KeysPage {...{ scopes, ...found }} ownKeyId={principal.keyId} projects={own?.items ?? []} />;
};

export const createKey: Screen = async ({ api, hub }, request) => {
  const form = request.body as URLSearchParams;
  const expiresAt = expiryOf(field(request, "days"), hub.clock());
  const scopes = form.getAll("scope") as Scope[];
  const body = {
    name: field(request, "name") ?? "",
    scopes: scopes.length > 0 ? scopes : DEFAULT_SCOPES,
    ...(field(request, "project_id") !== undefined && { project_id: field(request, "project_id") }),
    expires_at: expiresAt ?? null,
  };
  const created = await api.call(request, callTo(routes.createKey, { body }));
  return <NewKeyPage created={created} />;
};

export const revokeKey: Screen = async ({ api }, request) => {
  await api.call(request, callTo(routes.revokeKey, { params: { id: param(request, "id") } }));
  return { goTo: pagePaths.keys() };
};

export const audit: Screen = async ({ api }, request) => {
  requireAdministrator(request);
  const [action, actor] = [queryOf(request, "action"), queryOf(request, "actor")];
  const found = await api.page(request, callTo(listAudit, { query: { action, actor, limit: "100" } }));
  const ids = found.items.flatMap(({ key_id: key, subject }) => [key, subject]);
  const wanted = (form: RegExp) => new Set(ids.filter((id) => form.test(id)));
  const keys = await namesIn(api, request, wanted(/^key_/), (query) => callTo(routes.listKeys, { query }));
  const projects = await namesIn(api, request, wanted(/^(?:prj|plg|svc)_/), (query) => callTo(listProjects, { query }));
  return <AuditPage {...{ action, actor, keys, projects, ...found }} />;
};

/** Pages of a list that are read for names: on a hub with more, some of what is old is shown by its id. */
const NAME_PAGES = 10;

/** Finds the names of things by their ids in a list of them. @param wanted loses the ids that are found */
async function namesIn(
  api: Api,
  request: Parameters<Screen>[1],
  wanted: Set<string>,
  listed: (query: { limit: string; cursor: string }) => ApiCall<Listed<{ id: string; name: string }>>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  let cursor: string | null = "";
  for (let page = 0; page < NAME_PAGES && cursor !== null && wanted.size > 0; page++) {
    const { items, next }: Listed<{ id: string; name: string }> = await api.call(
      request,
      listed({ limit: "200", cursor }),
    );
    for (const { id, name } of items) if (wanted.delete(id)) names.set(id, name);
    cursor = next;
  }
  return names;
}

/** Answers 404 to everybody else: a page that a key may not see is not there. */
function requireAdministrator(request: Parameters<Screen>[1]): void {
  if (!isAdministrator(principalOf(request))) throw notFound("There is no such page.");
}

export const health: Screen = async ({ api }, request) => {
  requireAdministrator(request);
  const { bytes } = await api.send(request, callTo(showReadiness, { query: { verbose: "1" } }));
  const readiness = JSON.parse(bytes.toString()) as Readiness;
  const facts = await api.call(request, callTo(showHub, {}));
  return <HealthPage {...{ readiness, facts }} />;
};
