import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { golden } from "../support/golden.ts";
import { fullHub } from "../support/hub/full-hub.ts";
import { startHub } from "../support/hub/harness.ts";
import { Visitor } from "../support/hub/web.ts";

t.test("the statements of routes, pages and upkeep reach each table by the indexes that they had", async (t) => {
  const statements = new Set<string>();
  const onStatement = (text: string): unknown => statements.add(text);
  const dataDir = join(t.testdir({}), "hub");
  // Statements of migrations name columns that later ones drop.
  await (await startHub(t, { dataDir })).hub.close();
  const { hub, project, rolled } = await fullHub(t, dataDir, { onStatement });
  const { body: document } = await hub.call("GET", "/openapi.json", { key: null });
  const bearer = await project.session();
  const named: Record<string, string> = { slug: "tide", version: "1.1.0", kind: "plugin", project_id: project.id };
  for (const [path, operations] of Object.entries(document.paths as Record<string, Record<string, object>>)) {
    if (operations["get"] === undefined || path.endsWith("/changes")) continue;
    const where = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => named[name] ?? project.id);
    for (const as of [{}, { key: project.key }, { bearer }]) await hub.call("GET", where, as);
  }
  const versions = `/devkeys/projects/${project.id}/versions?limit=1`;
  const { body: first } = await hub.call("GET", versions);
  await hub.call("GET", `${versions}&cursor=${first.next as string}`);
  const asked = { deployment_credential: project.credential, artifact_signature: Buffer.alloc(64).toString("base64") };
  await hub.call("POST", "/app/deploy/v1/deployments/authorize", { bearer, json: asked });
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const pages = ["/", "/?q=tide", "/fleets", "/projects", "/keys", "/audit?actor=x", "/quotas", "/webhooks", "/hub"];
  pages.push(`/projects/${project.id}/hosts`);
  for (const target of ["/plugins/tide", `/projects/${project.id}`, `/projects/${rolled.id}`])
    pages.push(
      target,
      `${target}/fleet`,
      `${target}/fleet?state=failed`,
      `${target}/fleet?label=env`,
      `${target}/rollouts`,
    );
  for (const page of pages) await visitor.request(page);
  await hub.hub.upkeep.run();

  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { readOnly: true });
  const plans = new Set<string>();
  for (const text of statements) {
    if (!/^\s*(select|with|insert|update|delete)\b/i.test(text)) continue;
    for (const { detail } of database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[])
      if (/^(SCAN|SEARCH) [a-z_]/.test(detail)) plans.add(detail);
  }
  golden(t, "query-plans.txt", [...plans].toSorted().join("\n"));
});
