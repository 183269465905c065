import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { signatureOf } from "../../support/hub/marketplace-hub.ts";

/** Tables that grow with versions, hosts and time. */
const GROWING = /SCAN (artifacts|releases|deleted_versions|deltas|reports|hosts|sessions|audit|[arhs])\b/;

t.test("no request reads more of a growing table than an index tells it to", async (t) => {
  const statements = new Set<string>();
  const hub = await startHub(t, {
    rateLimits: false,
    checkArchive: async () => undefined,
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
  for (const path of ["", "/versions"])
    t.equal((await hub.call("GET", `/app/marketplace/plugins/many${path}`)).status, 200, path);

  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { readOnly: true });
  const faults: string[] = [];
  for (const text of statements) {
    if (!/^\s*(select|with|insert|update|delete)\b/i.test(text)) continue;
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[];
    // The deltas of one artifact are a handful.
    const sorts = /from deltas/i.test(text) ? undefined : "TEMP B-TREE";
    for (const { detail } of plan)
      if (GROWING.test(detail) || (sorts !== undefined && detail.includes(sorts))) faults.push(`${detail}: ${text}`);
  }
  t.strictSame(faults, []);
  t.ok(statements.size > 10, `${statements.size} statements were seen`);
});
