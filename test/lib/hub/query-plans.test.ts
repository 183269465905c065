import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { signatureOf } from "../../support/hub/marketplace-hub.ts";

/** Tables that grow with versions, hosts and time. */
const GROWING = /SCAN (versions|blobs|sealed|deleted_versions|reports|hosts|sessions|audit|[vbsirh])\b/;

/** Statements of lists and counts of hosts, with the index that each has to use. */
const HOST_INDEXES: [query: string, parts: readonly RegExp[], index: string][] = [
  ["?limit=10", [/FROM hosts\s+WHERE.* state = \? AND host_id > \?/s], "hosts_state"],
  ["?version=1.0.0", [/FROM hosts\s+WHERE.* shown_version = \?/s], "hosts_version"],
  ["?label=env", [/FROM host_labels/], "host_labels_key"],
];
const COUNT_INDEXES: [part: RegExp, index: string][] = [
  [/GROUP BY state/, "hosts_state"],
  [/GROUP BY shown_version/, "hosts_version"],
  [/WITH RECURSIVE found/, "host_labels_key"],
];

t.test("lists of hosts and their counts walk the index that is made for them", async (t) => {
  const statements = new Set<string>();
  const hub = await startHub(t, { onStatement: (text) => statements.add(text) });
  const json = { kind: "plugin", slug: "many", version: "1.0.0", status: "success", host_id: "a" };
  const times = { started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:00Z" };
  const report = { json: { ...json, ...times, labels: { env: "prod" } } };
  t.equal((await hub.call("POST", "/app/deployments/deployments/report", report)).status, 201);
  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { readOnly: true });
  // SQLite names the index of a primary key by its table.
  const nameOf = (index: string) => (index === "host_labels_key" ? "sqlite_autoindex_host_labels_1" : index);
  const at = "/app/deployments/deployments/plugin/many";

  const seen = async (path: string): Promise<string[]> => {
    statements.clear();
    t.equal((await hub.call("GET", path)).status, 200, path);
    return [...statements].filter((text) => /\bhosts\b|\bhost_labels\b/.test(text));
  };
  const uses = (text: string, index: string, what: string): void => {
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[];
    const steps = plan.map(({ detail }) => detail).filter((detail) => /\b(hosts|host_labels|l)\b/.test(detail));
    t.ok(steps.length > 0, what);
    for (const step of steps) t.match(step, new RegExp(`^SEARCH .* USING (COVERING )?INDEX ${nameOf(index)} `), what);
  };
  for (const [query, parts, index] of HOST_INDEXES) {
    const found = await seen(`${at}/hosts${query}`);
    for (const part of parts) {
      const texts = found.filter((text) => part.test(text));
      t.ok(texts.length > 0, `${query} asks ${part}`);
      for (const text of texts) uses(text, index, text);
    }
  }
  const counts = await seen(`${at}/fleet`);
  for (const [part, index] of COUNT_INDEXES) {
    const text = counts.find((each) => part.test(each));
    t.ok(text, `the numbers ask ${part}`);
    uses(text!, index, text!);
  }
});

t.test("no request reads more of a growing table than an index tells it to", async (t) => {
  const statements = new Set<string>();
  const hub = await startHub(t, {
    rateLimits: false,
    checkArchive: async () => ({ description: null }),
    onStatement: (text) => statements.add(text),
  });
  const project = await createProject(hub);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Many", kind: "plugin", slug: "many" } });
  await hub.hub.upkeep.run();
  statements.clear();

  const base = `/app/deploy/v1/projects/${project.id}`;
  const archive = Buffer.from("an archive that nobody opens");
  const bearer = await project.session();
  for (const version of ["1.0.0", "1.1.0"]) {
    t.equal((await project.publish(publication(version))).status, 201);
    const form = new FormData();
    form.set("version", version);
    form.set("signature", signatureOf(archive));
    form.set("archive", new Blob([archive]), "archive.zip");
    t.equal((await hub.call("POST", "/app/marketplace/plugins/many/versions", { form })).status, 201);
  }
  for (const path of ["/versions/latest", "/artifacts/1.1.0"])
    t.equal((await hub.call("GET", base + path, { bearer })).status, 200, path);
  const fleet = "/app/deployments/deployments/plugin/many";
  for (const query of ["/fleet", "/hosts?limit=10", "/hosts?version=1.0.0&label=env&text=a", "/hosts?state=silent"])
    t.equal((await hub.call("GET", fleet + query)).status, 200, query);
  for (const path of ["", "/versions"])
    t.equal((await hub.call("GET", `/app/marketplace/plugins/many${path}`)).status, 200, path);

  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { readOnly: true });
  const faults: string[] = [];
  for (const text of statements) {
    if (!/^\s*(select|with|insert|update|delete)\b/i.test(text)) continue;
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[];
    // The deltas of one version are a handful, and so are the versions that a fleet runs.
    const sorts = /JOIN blobs b ON b\.version_id|GROUP BY shown_version/i.test(text) ? undefined : "TEMP B-TREE";
    for (const { detail } of plan)
      if (GROWING.test(detail) || (sorts !== undefined && detail.includes(sorts))) faults.push(`${detail}: ${text}`);
  }
  t.strictSame(faults, []);
  t.ok(statements.size > 10, `${statements.size} statements were seen`);
});
