// Holds: what a transfer carries with it (lib/hub/mounts/project-manage.ts)
/** A request has passed the look at its rights when its key is revoked, or its target goes to another owner. */
import pg from "pg";
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { newAuthor } from "../../support/host/author.ts";
import { SLUG } from "../../support/host/marketplace-host.ts";
import { authorHub, pluginOf, signatureFields } from "../../support/hub/author-hub.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { sendSlowly } from "../../support/hub/slow-upload.ts";
import { until } from "../../support/until.ts";

const HEX = "a".repeat(64);
const ROLLOUT = "/devkeys/projects/{id}/rollouts/{rollout}";
const SIGNER = "/devkeys/projects/{id}/signers/{key}";
const INVITES = "/devkeys/projects/{id}/host-invites";
const JOINED = "/devkeys/projects/{id}/joined-hosts/{host}";
const PLUGIN = "/app/marketplace/plugins/{slug}";
const VERSION = "/devkeys/projects/{id}/versions/{version}";

type Body = object | ((id: string) => object) | undefined;

const { x25519, ed25519 } = hostKeyOf(newHostSeed());
const KIT_HOST = { host_id: "alpha", x25519, ed25519 };

/** Every change of a target, with its body. */
const CHANGES: Record<string, Body> = {
  "PATCH /devkeys/projects/{id}": { name: "Renamed" },
  [`POST ${VERSION}/yank`]: {},
  [`DELETE ${VERSION}/yank`]: undefined,
  [`POST ${VERSION}/deprecation`]: { message: "Take the next one." },
  [`DELETE ${VERSION}/deprecation`]: undefined,
  [`POST ${VERSION}/release`]: {},
  [`DELETE ${VERSION}?reason=bad`]: undefined,
  "POST /devkeys/projects/{id}/signers": { public_key: HEX },
  [`POST ${SIGNER}/retire`]: {},
  [`POST ${SIGNER}/revoke`]: {},
  "POST /devkeys/projects/{id}/rollouts": { version: "9.0.0" },
  [`POST ${ROLLOUT}/pause`]: {},
  [`POST ${ROLLOUT}/resume`]: {},
  [`POST ${ROLLOUT}/approve`]: {},
  [`POST ${ROLLOUT}/abort`]: {},
  "PUT /devkeys/projects/{id}/hosts/{host_id}/labels": { labels: { env: "prod" } },
  "PUT /devkeys/projects/{id}/hosts/{host_id}/service": { out_of_service: "a new disk" },
  [`POST ${INVITES}`]: { signers: [HEX], expires_at: "2999-01-01T00:00:00Z" },
  [`DELETE ${INVITES}/{invite}`]: undefined,
  [`POST ${JOINED}/approve`]: undefined,
  [`PATCH ${JOINED}`]: { host_id: "omega" },
  [`DELETE ${JOINED}`]: undefined,
  "POST /devkeys/staging/approve": (id: string) => ({ versions: [{ project_id: id, version: "1.0.0", sha256: HEX }] }),
  "POST /devkeys/staging/{id}/{version}/reject": { reason: "bad" },
  "PUT /devkeys/projects/{id}/approval": { required: true },
  "DELETE /devkeys/projects/{id}/root": undefined,
  "POST /devkeys/roots": (id: string) => ({ root: rootChain().version(1, [heldKey()]), targets: [id] }),
  "POST /devkeys/projects/{id}/settings": {
    documents: [{ host_id: "alpha", to: HEX, number: 1, follows: null, sealed: "AAAA" }],
  },
  "DELETE /devkeys/projects/{id}/settings/{host}": undefined,
  [`PATCH ${PLUGIN}`]: { visibility: "public" },
  [`POST ${PLUGIN}/versions/{version}/yank`]: {},
  [`DELETE ${PLUGIN}/versions/{version}/yank`]: undefined,
  [`POST ${PLUGIN}/grants`]: { owner: "friend" },
  [`DELETE ${PLUGIN}/grants/{owner}`]: undefined,
  "DELETE /app/deploy/v1/projects/{project_id}/hosts/{host_id}": undefined,
  [`POST ${PLUGIN}/kits`]: {
    version: "1.0.0",
    hosts: [KIT_HOST],
    digest: HEX,
    key: Buffer.alloc(32, 1).toString("base64"),
  },
  "DELETE /devkeys/projects/{id}/kits/{kit}": undefined,
};

/** Those of administrators and of hosts, and uploads, which other files try; a project's kit is made as a plugin's. */
const OTHERS =
  /^(?:DELETE \S+\/projects\/\{id\}|\S+ \S+\/(?:transfer|signature|import|publish|deltas|index|statements|versions|host-card|host-settings\/outcome)|POST \S+\/projects\/\{id\}\/kits)$/;

const NAMES: Record<string, string> = {
  ...{ version: "1.0.0", key: HEX, rollout: "rol_none", host_id: "alpha", host: "alpha", invite: "inv_none" },
  ...{ slug: SLUG, owner: "friend" },
};

t.test("no change comes from a key or an owner that lost the right to it meanwhile", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
  const { hub, publish } = await authorHub(t, { databaseUrl });
  await publish("1.0.0");
  const { items } = (await hub.call("GET", "/devkeys/projects")).body as { items: { id: string }[] };
  const plugin = items[0]!.id;
  const project = (await hub.call("POST", "/devkeys/projects", { json: { name: "Tide tables", kind: "project" } })).body
    .id as string;
  const scopes = ["keys", "projects", "deploy", "publish", "report", "read", "settings"];
  const issued = await hub.call("POST", "/devkeys/api-keys", { json: { name: "f", owner: "former", scopes } });
  const { key, id: keyId } = issued.body as { key: string; id: string };
  const sealed = { digest: HEX, key: Buffer.alloc(32, 1).toString("base64") };
  // The administrator's kit for hosts of the project: whoever acts on that may end it.
  const kit = { version: "1.0.0", hosts: [KIT_HOST], ...sealed, hosts_project_id: project };
  const made = await hub.call("POST", PLUGIN.replace("{slug}", SLUG) + "/kits", { json: kit });
  NAMES["kit"] = made.body.id as string;
  const rival = new pg.Client({ connectionString: databaseUrl });
  await rival.connect();
  t.teardown(() => rival.end());
  const watcher = new pg.Client({ connectionString: databaseUrl });
  await watcher.connect();
  t.teardown(() => watcher.end());

  /** Has a request wait for the target's row, and commits a change that it has not seen. @returns its answer */
  const overtaken = async (id: string, change: string, [name, given]: [string, Body]) => {
    const [method, path] = name.split(" ") as [string, string];
    await rival.query("BEGIN");
    await rival.query("SELECT id FROM projects WHERE id = $1 FOR UPDATE", [id]);
    await rival.query(change, [id]);
    const where = path.replaceAll(/\{([a-z_]+)\}/g, (_, part: string) => NAMES[part] ?? id);
    const json = typeof given === "function" ? given(id) : given;
    let isAnswered = false;
    const asked = hub.call(method, where, { key, ...(json !== undefined && { json }) });
    void asked.finally(() => (isAnswered = true));
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await until(async () => isAnswered || (await watcher.query(waiting)).rows.length > 0);
    await rival.query("COMMIT");
    const { status, body } = await asked;
    return `${status} ${body?.code}`;
  };
  const restore = async () => {
    await rival.query("UPDATE projects SET owner = 'former'");
    await rival.query("UPDATE api_keys SET revoked_at = NULL WHERE id = $1", [keyId]);
  };

  const { paths } = (await hub.call("GET", "/openapi.json", { key: null })).body as {
    paths: Record<string, Record<string, unknown>>;
  };
  const known = new Set(
    Object.entries(paths).flatMap(([path, of]) => Object.keys(of).map((method) => `${method.toUpperCase()} ${path}`)),
  );
  const routeOf = (name: string) => name.replace(/\?.*/, "");
  const changes = Object.entries(CHANGES).filter(([name]) => known.has(routeOf(name)));
  const tried = new Set(changes.map(([name]) => routeOf(name)));
  const forgotten = [...known].filter(
    (name) =>
      /\{(?:id|project_id|slug)\}/.test(name) &&
      !/^(?:GET|HEAD) |\/app\/devkeys\/|\/services\/|\/api-keys\/|\{kind\}/.test(name) &&
      !(tried.has(name) || OTHERS.test(name)),
  );
  t.strictSame(forgotten, [], "every change of a target is tried");

  const transfer = "UPDATE projects SET owner = 'next' WHERE id = $1";
  const revocation = `UPDATE api_keys SET revoked_at = '2026-01-01T00:00:00.000Z' WHERE id = '${keyId}' AND $1 <> ''`;
  const author = newAuthor();
  await hub.call("POST", `/devkeys/projects/${plugin}/signers`, {
    json: { public_key: author.publicKey.toString("hex") },
  });
  const signing: [string, Body] = [`PUT ${VERSION}/signature`, signatureFields(author, pluginOf("1.0.0"))];
  for (const change of [signing, ...changes]) {
    const isPlugins = change === signing || /\{slug\}/.test(change[0]);
    const id = isPlugins ? plugin : project;
    await restore();
    t.equal(await overtaken(id, transfer, change), "403 forbidden", `${change[0]}, transferred`);
    await restore();
    t.equal(await overtaken(id, revocation, change), "401 key_rejected", `${change[0]}, its key revoked`);
  }
});

t.test("nothing comes of a key's owner that the key asks for when it is revoked while its words arrive", async (t) => {
  const { hub } = await authorHub(t);
  const scopes = ["keys", "projects", "deploy", "publish", "report", "read"];
  const bodies: [path: string, body: object][] = [
    ["/devkeys/projects", { name: "More", kind: "project" }],
    ["/devkeys/signing-key", { secret: "sixteen characters" }],
    ["/devkeys/webhooks", { url: "https://127.0.0.1:1/" }],
    ["/devkeys/api-keys", { name: "more" }],
  ];
  for (const [path, json] of bodies) {
    const { key, id } = (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", owner: "o", scopes } })).body;
    const text = JSON.stringify(json);
    const revoke = () => hub.call("DELETE", `/devkeys/api-keys/${id}`);
    t.equal(await sendSlowly(hub, { path, key, body: text, type: "application/json" }, revoke), 401, path);
  }
});
