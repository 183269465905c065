import type { ApiKeyRecord, CreatedKey, ProjectRecord, Scope } from "../../contract/surfaces/keys.ts";
import { Layout } from "./layout.tsx";
import { Badge, Command, Empty, Form, Go, Pager, Table, Time, type Tone } from "./parts.tsx";
import { pagePaths, useView } from "./view.ts";

const SCOPE_WORDS: Record<Scope, string> = {
  admin: "everything, for every owner",
  keys: "create and revoke keys",
  projects: "create and change projects, approve rollouts",
  publish: "publish and yank versions, start rollouts",
  deploy: "fetch and decrypt artifacts",
  report: "report deployments",
  read: "read fleets and records",
};

function stateOf({ revoked_at: revoked, expires_at: expires }: ApiKeyRecord, now: number): [string, Tone] {
  if (revoked !== null) return ["revoked", "calm"];
  if (expires === null) return ["live", "good"];
  return Date.parse(expires) <= now ? ["expired", "calm"] : ["live", "good"];
}

export interface KeysView {
  items: ApiKeyRecord[];
  cursor: string;
  next: string | null;
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
      <details className="panel">
        <summary>Create a key</summary>
        <Form to={pagePaths.keys()} className="stack">
          <label>
            Name
            <input name="name" required maxLength={255} placeholder="host-1" />
          </label>
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
            <label>
              Only for
              <select name="project_id">
                <option value="">all of its owner&rsquo;s</option>
                {projects.map(({ id, name, kind }) => (
                  <option key={id} value={id}>
                    {name} ({kind})
                  </option>
                ))}
              </select>
            </label>
          )}
          <label>
            Expires
            {(principal?.expiresAt ?? null) === null ? (
              <select name="days" defaultValue="90">
                <option value="30">in 30 days</option>
                <option value="90">in 90 days</option>
                <option value="365">in a year</option>
                <option value="">never</option>
              </select>
            ) : (
              <select name="days">
                <option value="">with yours</option>
              </select>
            )}
          </label>
          <button>Create the key</button>
        </Form>
      </details>
      {items.length === 0 ? (
        <Empty title="No keys." />
      ) : (
        <Table
          label="Keys"
          columns={["Key", "State", "May", "For", "Created", "Expires", "Last used", ["", "acts"]]}
          rows={items.map((key) => {
            const [text, tone] = stateOf(key, now);
            return {
              key: key.id,
              cells: [
                <>
                  {key.name} {key.id === ownKeyId && <Badge tone="busy">this session</Badge>}
                  <p className="slug">
                    <code>{key.prefix}…</code> {key.owner}
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
                  <Form
                    to={`${pagePaths.keys()}/${encodeURIComponent(key.id)}/revoke`}
                    className="inline"
                    confirm={`Revoke the key ${key.name}? Whatever uses it stops working at once.`}
                  >
                    <button className="plain bad-text" aria-label={`Revoke ${key.name}`}>
                      Revoke
                    </button>
                  </Form>
                ),
              ],
            };
          })}
        />
      )}
      <Pager to={pagePaths.keys()} at={cursor} next={next} />
    </Layout>
  );
}

/** The secrets of a new key: the only time that they are shown. */
export const NewKeyPage = ({ created }: { created: CreatedKey }) => (
  <Layout title="New key">
    <div className="narrow">
      <h1>{created.name}</h1>
      <p className="notice">Copy it now. The hub keeps only its hash, and nobody can show it again.</p>
      <h2>API key</h2>
      <Command text={created.key} />
      {created.deployment_credential !== undefined && (
        <>
          <h2>Deployment credential</h2>
          <Command text={created.deployment_credential} />
        </>
      )}
      <p>
        <Go to={pagePaths.keys()}>Back to the keys</Go>
      </p>
    </div>
  </Layout>
);
