import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Test } from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import { CopiedTables } from "../../../lib/hub/records/copy.ts";
import { tablesOf } from "../../../lib/hub/records/schema.ts";
import { FILLS, localFeatures } from "./features.ts";
import { AT, type ByHand, type Filling, HOSTILE, HOSTILE_HOST, later } from "./filling.ts";
import { createProject, newSigner, type ProjectAccess, publication, type RunningHub, startHub } from "./harness.ts";
import { publishFiles, report } from "./shown-hub.ts";

/** Values that only time or other machines put into a database: set where the routes left nothing. */
const BY_HAND: ByHand = {
  api_keys: { last_used_at: AT, acts_for: HOSTILE, trusted_by: HOSTILE },
  deleted_projects: { cleared_at: AT },
  hosts: {
    ...{ root_version: 3, root_digest: "c".repeat(64) },
    ...{ settings_number: 3, settings_state: "failed", settings_of: 3, settings_code: "unhealthy" },
    agent: "0.3.0",
  },
  projects: { approval_by: "owner" },
  versions: { approved_by: "key_admin", approved_at: AT, needs_agent: "0.3.0" },
};

export interface FullHub {
  hub: RunningHub;
  /** With a delta, an index, a register of signers, and versions that are yanked and deleted. */
  project: ProjectAccess;
  /** A project whose rollout halts: its version is taken back. */
  rolled: ProjectAccess;
  /** Reports as the one host of that project. */
  report: (version: string, status: "success" | "failed") => Promise<unknown>;
}

type Done = Filling["done"];

/** Names the columns, as `table.column`, in which no row of the database has a value. */
export function emptyColumns(dataDir: string): string[] {
  using database = new DatabaseSync(join(dataDir, "hub.sqlite"), { readOnly: true, timeout: 10_000 });
  const tables = new CopiedTables(tablesOf(FEATURES));
  return tables.names.flatMap((table) =>
    Object.keys(tables.table(table).rows.shape)
      .filter((column) => database.prepare(`select 1 from ${table} where ${column} is not null`).get() === undefined)
      .map((column) => `${table}.${column}`),
  );
}

/**
 * A hub in which every column of every table has a value, and every text that a person, a plugin or a host gives is
 * hostile. A new table or column is filled here; tests of backups, pages and query plans then read it.
 */
export async function fullHub(t: Test, dataDir: string, options: Partial<HubOptions> = {}): Promise<FullHub> {
  const hub = await startHub(t, { dataDir, ...localFeatures(), rateLimits: false, ...options });
  const done: Done = async (method, path, rest) => {
    const { status, bytes, body } = await hub.call(method, path, rest);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${bytes.toString()}`);
    return body as { id: string };
  };
  await fillPlugin(hub, done);
  const filling: Filling = { t, hub, done, ...(await filledProject(hub, done)), ...(await projectOfHost(hub, done)) };
  for (const { fill } of FILLS) await fill?.(filling);
  await fillSigners(done, filling.project.id);
  const { id: doomed } = await done("POST", "/devkeys/projects", {
    json: { name: HOSTILE, kind: "project", same_name: true },
  });
  await done("DELETE", `/devkeys/projects/${doomed}`);
  await done("GET", "/readyz");
  await hub.hub.upkeep.run();
  for (const values of [BY_HAND, ...FILLS.map(({ byHand }) => byHand ?? {})]) setByHand(dataDir, values);
  retireKek(dataDir);
  const { project, rolled, report: reported } = filling;
  return { hub, project, rolled, report: reported };
}

/** Fills a plugin whose owner, versions and hosts say hostile things. */
async function fillPlugin(hub: RunningHub, done: Done): Promise<void> {
  const { id } = await done("POST", "/devkeys/projects", { json: { name: HOSTILE, kind: "plugin", slug: "tide" } });
  await done("PATCH", "/app/marketplace/plugins/tide", {
    json: {
      ...{ description: HOSTILE, name: HOSTILE, repository: `https://evil.example/"onmouseover="alert(1)` },
      ...{ homepage: `https://evil.example/${encodeURI(HOSTILE)}`, visibility: "private" },
    },
  });
  for (const version of ["1.0.0", "1.1.0", "1.2.0"])
    await publishFiles(
      hub,
      { slug: "tide", version, stage: version === "1.2.0" },
      {
        "README.md": `# ${HOSTILE}\n\n[a](javascript:alert(1)) <javascript:alert(1)>\n`,
        "plugin.yaml": `name: tide\nversion: ${version}\nentry_point: i.js\nexecution_mode: sandboxed\ndescription: tells tides\n`,
        [`<img src=x onerror=alert(1)>${version}.js`]: "1",
      },
    );
  const { bytes } = await hub.call("GET", "/app/marketplace/plugins/tide/install?version=1.1.0");
  const author = newSigner();
  await done("PUT", `/devkeys/projects/${id}/versions/1.1.0/signature`, {
    json: {
      signature_ed25519: author.sign(bytes).toString("base64"),
      signer_public_key: author.publicKey.toString("base64"),
    },
  });
  await done("POST", "/app/marketplace/plugins/tide/versions/1.0.0/yank", { json: { reason: HOSTILE } });
  await done("POST", "/app/marketplace/plugins/tide/grants", { json: { owner: HOSTILE } });
  const step = { id: HOSTILE, action: HOSTILE, status: "failed", duration_ms: 1, error_message: HOSTILE };
  const failed = { status: "failed", error: HOSTILE, steps: [step], labels: { env: "prod" } } as const;
  const health = { state: "unhealthy", since: AT } as const;
  await report(hub, { slug: "tide", host: HOSTILE_HOST, version: "1.1.0", ...failed, health });
  await report(hub, { slug: "tide", host: "h", version: HOSTILE.slice(0, 120), running: HOSTILE.slice(0, 120) });
  await done("PUT", `/devkeys/projects/${id}/hosts/h/service`, { json: { out_of_service: HOSTILE.slice(0, 200) } });
}

/** A project with versions, deltas, signers and keys in each of their states. */
async function filledProject(hub: RunningHub, done: Done): Promise<Pick<Filling, "project" | "versions" | "signer">> {
  const project = await createProject(hub, ["publish", "projects", "deploy", "report", "read"]);
  const signer = newSigner();
  const versions = ["0.9.0", "1.0.0", "1.1.0", "1.2.0"].map((version) => publication(version, { signer }));
  for (const what of versions)
    if ((await project.publish(what)).status !== 201) throw new Error(`${what.version} was not published`);
  const base = `/devkeys/projects/${project.id}`;
  await done("POST", `${base}/versions/1.0.0/yank`, { json: { reason: HOSTILE } });
  const advice = { message: HOSTILE, replaced_by: "1.2.0" };
  await done("POST", `${base}/versions/1.0.0/deprecation`, { json: advice });
  await done("DELETE", `${base}/versions/0.9.0?reason=${encodeURIComponent(HOSTILE)}`);
  const { key } = project;
  const delta = publication("delta", { signer });
  const form = (fields: Record<string, string | Blob>): { key: string; form: FormData } => {
    const made = new FormData();
    for (const [name, value] of Object.entries(fields)) made.set(name, value);
    return { key, form: made };
  };
  const artifacts = `/app/deploy/v1/projects/${project.id}/artifacts`;
  for (const version of ["1.0.0", "1.1.0"])
    await done("POST", `${artifacts}/${version}/index`, form({ index: new Blob([new Uint8Array(50)]) }));
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  await done(
    "POST",
    `${artifacts}/1.1.0/deltas`,
    form({
      ...{ base_version: "1.0.0", base_content_sha256: versions[1]!.contentSha256, dek: base64(delta.dek) },
      ...{ signature: base64(delta.signature), signer_public_key: base64(delta.publicKey) },
      artifact: new Blob([new Uint8Array(delta.bytes)]),
    }),
  );
  const doomed = await done("POST", "/devkeys/api-keys", {
    json: { name: HOSTILE, project_id: project.id, scopes: ["read"], expires_at: later(3600), host: "revoked" },
  });
  const { id: rotated } = await done("POST", `/devkeys/api-keys/${doomed.id}/rotate`);
  for (const id of [doomed.id, rotated]) await done("DELETE", `/devkeys/api-keys/${id}`);
  return { project, versions, signer };
}

/** Registers a signer of a project, after which no others may sign, and revokes it. */
async function fillSigners(done: Done, project: string): Promise<void> {
  const signers = `/devkeys/projects/${project}/signers`;
  await done("POST", signers, { json: { public_key: "b".repeat(64), name: HOSTILE } });
  for (const verb of ["retire", "revoke"])
    await done("POST", `${signers}/${"b".repeat(64)}/${verb}`, { json: { reason: HOSTILE } });
}

/** A project whose only host runs 1.0.0, and has a label. */
async function projectOfHost(hub: RunningHub, done: Done): Promise<Pick<FullHub, "rolled" | "report">> {
  const rolled = await createProject(hub, ["publish", "projects", "deploy", "report", "read"]);
  await done("PATCH", `/devkeys/projects/${rolled.id}`, { json: { name: HOSTILE, same_name: true } });
  await rolled.publish(publication("1.0.0"));
  const bearer = await rolled.session();
  const reported: FullHub["report"] = (version, status) =>
    done("POST", "/app/deploy/v1/deployments/report", {
      bearer,
      headers: { "x-sealift-host": encodeURIComponent(HOSTILE_HOST) },
      json: {
        ...{ project_id: rolled.id, deployment_id: `of-${version}`, version, status, plugins: [{ id: HOSTILE }] },
        ...{
          started_at: AT,
          completed_at: AT,
          host_id: HOSTILE_HOST,
          running_version: status === "failed" ? "1.0.0" : version,
          running_signer: "a".repeat(64),
        },
        ...(status === "failed" && { error_message: HOSTILE }),
      },
    });
  await reported("1.0.0", "success");
  const base = `/devkeys/projects/${rolled.id}`;
  const labels = `${base}/hosts/${encodeURIComponent(HOSTILE_HOST)}/labels`;
  await done("PUT", labels, { json: { labels: { env: "canary" } } });
  return { rolled, report: reported };
}

/** Opens the database of a hub that runs, and waits while that writes. */
const ownDatabase = (dataDir: string): DatabaseSync =>
  new DatabaseSync(join(dataDir, "hub.sqlite"), { timeout: 10_000 });

/** Sets values where the routes left nothing. */
function setByHand(dataDir: string, tables: ByHand): void {
  using database = ownDatabase(dataDir);
  for (const [table, values] of Object.entries(tables))
    for (const [column, value] of Object.entries(values))
      database.prepare(`update ${table} set ${column} = ? where ${column} is null`).run(value);
}

function retireKek(dataDir: string): void {
  using database = ownDatabase(dataDir);
  database.prepare("insert into keks values ('kek_retired', ?, ?)").run(AT, AT);
}
