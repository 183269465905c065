import * as routes from "../../contract/keys/routes.ts";
import { keyFacts } from "../../contract/keys/shown.ts";
import { listProjects } from "../../contract/projects/routes.ts";
import { SCOPES } from "../../contract/scopes.ts";
import { DEFAULT_KEY_DAYS, DEFAULT_SCOPES, type ProjectRecord, type Scope } from "../../contract/surfaces/keys.ts";
import { mayEnd } from "../../hub/access/key-rights.ts";
import { unprocessable } from "../../hub/base/errors.ts";
import { isAdministrator, may, type Principal, requireScope } from "../../hub/base/principal.ts";
import { act } from "../page/act.ts";
import { callTo } from "../page/api.ts";
import { field, queryOf, requirePrincipal, type Screen } from "../page/context.ts";
import { factRows } from "../page/fact-rows.tsx";
import { Check, Field, Opened, Remove, Select } from "../page/forms.tsx";
import { ListPage } from "../page/list-page.tsx";
import { Badge, Empty, Go } from "../page/parts.tsx";
import { SecretsPage } from "../page/secrets-page.tsx";
import { pagePaths, withQuery } from "../page/view.ts";

const SCOPE_WORDS: Record<Scope, string> = {
  admin: "everything, for every owner",
  keys: "create and revoke keys",
  projects: "create and change projects, approve rollouts",
  stage: "stage versions that others approve",
  settings: "upload sealed settings for hosts",
  publish: "publish and yank versions, start rollouts",
  deploy: "fetch and decrypt artifacts",
  report: "report deployments",
  read: "read fleets and records",
};

const EXPIRIES = {
  value: String(DEFAULT_KEY_DAYS),
  of: [
    ["30", "in 30 days"],
    ["90", "in 90 days"],
    ["365", "in a year"],
    ["", "never"],
  ],
} as const;
const WITH_OWN = { of: [["", "with yours"]] } as const;

/** Lists the keys that the caller may see, with a form for a new one. */
export const keys: Screen = async ({ api, hub }, request) => {
  const principal = requirePrincipal(request);
  requireScope(principal, "keys");
  const state = queryOf(request, "state") === "ended" ? "ended" : "live";
  const { items, ...page } = await api.page(request, callTo(routes.listKeys, { query: { limit: "50", state } }));
  const projects = (await api.ask(request, callTo(listProjects, { query: { limit: "200" } })))?.items ?? [];
  const nameOf = (project: string): string | undefined => projects.find(({ id }) => id === project)?.name;
  const facts = keyFacts(nameOf, hub.clock());
  return (
    <ListPage
      title="Keys"
      above={<CreateForm {...{ principal, projects }} />}
      {...factRows(facts, items, {
        keyOf: ({ id }) => id,
        formed: {
          name: (key) => (
            <>
              {key.name} {key.id === principal.keyId && <Badge tone="busy">this session</Badge>}
              <p className="slug">
                <code>{key.prefix}…</code> {key.owner}
                {key.host && `, only as ${key.host}`}
              </p>
            </>
          ),
          state: (key) => (
            <Badge tone={facts.state.text(key) === "live" ? "good" : "calm"}>{facts.state.text(key)}</Badge>
          ),
          project_id: ({ project_id: id }) =>
            id !== null && nameOf(id) === undefined ? <code title={id}>{id}</code> : undefined,
        },
        acts: (key) =>
          facts.state.text(key) === "live" &&
          mayEnd(principal, key) && (
            <Remove at={`${pagePaths.keys()}/${encodeURIComponent(key.id)}`} verb="Revoke" thing={key.name}>
              Revoke the key {key.name}? Whatever uses it stops working at once.
            </Remove>
          ),
      })}
      empty={<Empty title="No keys." />}
      to={pagePaths.keys()}
      query={{ state: state === "ended" ? state : undefined }}
      {...page}
    >
      <p className="help">
        {state === "live" ? (
          <Go to={withQuery(pagePaths.keys(), { state: "ended" })}>Keys that have ended in the last 30 days</Go>
        ) : (
          <Go to={pagePaths.keys()}>Live keys</Go>
        )}
      </p>
    </ListPage>
  );
};

/** @param projects to which a new key may be bound */
const CreateForm = ({ principal, projects }: { principal: Principal; projects: readonly ProjectRecord[] }) => (
  <Opened className="panel" title="Create a key" to={pagePaths.keys()}>
    <Field label="Name" name="name" required maxLength={255} placeholder="host-1" />
    <fieldset>
      <legend>It may</legend>
      {SCOPES.filter((scope) => may(principal, scope)).map((scope) => (
        <Check key={scope} name="scope" value={scope} isChecked={DEFAULT_SCOPES.includes(scope)}>
          <b>{scope}</b> <span className="faint">{SCOPE_WORDS[scope]}</span>
        </Check>
      ))}
    </fieldset>
    {projects.length > 0 && (
      <Select
        label="Only for"
        name="project_id"
        of={[["", "all of its owner’s"], ...projects.map(({ id, name, kind }) => [id, `${name} (${kind})`] as const)]}
      />
    )}
    {isAdministrator(principal) && (
      <Field label="Acts for, in approvals" name="acts_for" maxLength={511} placeholder="the key itself" />
    )}
    <Select label="Expires" name="days" {...((principal.expiresAt ?? null) === null ? EXPIRIES : WITH_OWN)} />
    <button>Create the key</button>
  </Opened>
);

const DAY_MS = 86_400_000;
/** Longest lifetime of a key, in days: a century. */
const MOST_DAYS = 36_500;

/** Returns the expiry of a key after some days; null for none. @throws HubError 422 for another text */
function expiryOf(days: string | undefined, now: number): string | null {
  if (days === undefined) return null;
  const count = /^[0-9]{1,5}$/.test(days) ? Number(days) : 0;
  if (count < 1 || count > MOST_DAYS)
    throw unprocessable(`days: must be a whole number from 1 to ${MOST_DAYS}, or empty for a key that never expires.`);
  return new Date(now + count * DAY_MS).toISOString();
}

/** Creates a key, and shows its secrets this only time. */
export const createKey: Screen = async ({ api, hub }, request) => {
  const scopes = (request.body as URLSearchParams).getAll("scope");
  if (scopes.length === 0) throw unprocessable("scopes: choose at least one right.");
  const actsFor = field(request, "acts_for");
  const body = {
    name: field(request, "name") ?? "",
    scopes,
    project_id: field(request, "project_id"),
    ...(actsFor !== undefined && { acts_for: actsFor }),
    expires_at: expiryOf(field(request, "days"), hub.clock()),
  };
  const created = await api.call(request, callTo(routes.createKey, { body }));
  return (
    <SecretsPage
      title="New key"
      of={created.name}
      notice="Copy it now. The hub keeps only its hash, and nobody can show it again."
      secrets={{ "API key": created.key, "Deployment credential": created.deployment_credential }}
    >
      <Go to={pagePaths.keys()}>Back to the keys</Go>
    </SecretsPage>
  );
};

export const revokeKey = act(routes.revokeKey, { to: () => pagePaths.keys() });
