import {
  type ApiKeyRecord,
  type CreatedKey,
  DEFAULT_KEY_DAYS,
  type ProjectRecord,
  type Scope,
} from "../../contract/surfaces/keys.ts";
import type { Paged } from "../page/api.ts";
import { Field, Opened, Remove, Select } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import { Badge, Empty, Go, Pager, Table, Time, type Tone } from "../page/parts.tsx";
import { SecretsPage } from "../page/secrets-page.tsx";
import { pagePaths, useView } from "../page/view.ts";

const SCOPE_WORDS: Record<Scope, string> = {
  admin: "everything, for every owner",
  keys: "create and revoke keys",
  projects: "create and change projects, approve rollouts",
  stage: "stage versions that others approve",
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

function stateOf({ revoked_at: revoked, expires_at: expires }: ApiKeyRecord, now: number): [string, Tone] {
  if (revoked !== null) return ["revoked", "calm"];
  if (expires === null) return ["live", "good"];
  return Date.parse(expires) <= now ? ["expired", "calm"] : ["live", "good"];
}

export interface KeysView extends Paged<ApiKeyRecord> {
  /** The scopes that the key may hand on. */
  scopes: readonly Scope[];
  ownKeyId: string;
  /** The projects that a new key may be bound to. */
  projects: ProjectRecord[];
}

/** The keys that this one may see, and a form for a new one. */
export function KeysPage({ items, cursor, next, scopes, ownKeyId, projects }: KeysView) {
  const { now, principal } = useView();
  return (
    <Layout title="Keys">
      <h1>Keys</h1>
      <Opened className="panel" title="Create a key" to={pagePaths.keys()}>
        <Field label="Name" name="name" required maxLength={255} placeholder="host-1" />
        <fieldset>
          <legend>It may</legend>
          {scopes.map((scope) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                name="scope"
                value={scope}
                defaultChecked={["deploy", "report", "read"].includes(scope)}
              />
              <span>
                <b>{scope}</b> <span className="faint">{SCOPE_WORDS[scope]}</span>
              </span>
            </label>
          ))}
        </fieldset>
        {projects.length > 0 && (
          <Select
            label="Only for"
            name="project_id"
            of={[
              ["", "all of its owner’s"],
              ...projects.map(({ id, name, kind }) => [id, `${name} (${kind})`] as const),
            ]}
          />
        )}
        <Select label="Expires" name="days" {...((principal?.expiresAt ?? null) === null ? EXPIRIES : WITH_OWN)} />
        <button>Create the key</button>
      </Opened>
      <Table
        label="Keys"
        empty={<Empty title="No keys." />}
        columns={["Key", "State", "May", "For", "Created", "Expires", "Last used", ["", "acts"]]}
        rows={items.map((key) => {
          const [text, tone] = stateOf(key, now);
          return [
            key.id,
            <>
              {key.name} {key.id === ownKeyId && <Badge tone="busy">this session</Badge>}
              <p className="slug">
                <code>{key.prefix}…</code> {key.owner} {key.host && `only as ${key.host}`}
              </p>
            </>,
            <Badge tone={tone}>{text}</Badge>,
            key.scopes.join(", "),
            projects.find(({ id }) => id === key.project_id)?.name ??
              (key.project_id === null ? "all" : <code title={key.project_id}>{key.project_id}</code>),
            <Time at={key.created_at} />,
            <Time at={key.expires_at} none="never" />,
            <Time at={key.last_used_at} none="never" />,
            text === "live" && (
              <Remove at={`${pagePaths.keys()}/${encodeURIComponent(key.id)}`} verb="Revoke" thing={key.name}>
                Revoke the key {key.name}? Whatever uses it stops working at once.
              </Remove>
            ),
          ];
        })}
      />
      <Pager to={pagePaths.keys()} at={cursor} next={next} />
    </Layout>
  );
}

/** The secrets of a new key: the only time that they are shown. */
export const NewKeyPage = ({ created }: { created: CreatedKey }) => (
  <SecretsPage
    title="New key"
    of={created.name}
    notice="Copy it now. The hub keeps only its hash, and nobody can show it again."
    secrets={{ "API key": created.key, "Deployment credential": created.deployment_credential }}
  >
    <Go to={pagePaths.keys()}>Back to the keys</Go>
  </SecretsPage>
);
