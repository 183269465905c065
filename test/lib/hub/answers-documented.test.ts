// In a process of its own: it records what fetch answers.
// Holds: what an answer has (lib/contract/facts/host.ts, lib/hub/fleets/fleet-view.ts)
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t, { type Test } from "tap";
import * as z from "zod";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { type FullHub, fullHub } from "../../support/hub/full-hub.ts";
import { publication } from "../../support/hub/harness.ts";
import { cutUpload, namedArchive, namedForm, newUploadId, placeOf } from "../../support/hub/resumed.ts";
import { publishFiles } from "../../support/hub/shown-hub.ts";
import { trustAt } from "../../support/hub/trust.ts";

interface Operation {
  responses: Record<string, { content?: Record<string, { schema?: Parameters<typeof z.fromJSONSchema>[0] }> }>;
}

/** Answer with JSON that the hub gave while the test recorded. */
interface Given {
  method: string;
  path: string;
  status: number;
  body: unknown;
}

/** Records every answer with JSON that this process gets from a hub. */
function recordAnswers(t: Test): Given[] {
  const answers: Given[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (to, options) => {
    const answer = await fetch(to, options);
    const { pathname } = new URL(to as string);
    if (answer.ok && answer.headers.get("content-type")?.startsWith("application/json") === true) {
      const text = await answer.clone().text();
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      answers.push({ method: (options?.method ?? "GET").toLowerCase(), path: pathname, status: answer.status, body });
    }
    return answer;
  };
  t.teardown(() => (globalThis.fetch = fetch));
  return answers;
}

/** Values of each parameter in paths, from what the hub has. */
function valuesIn({ hub: { dataDir }, project, rolled }: FullHub, upload: string): Record<string, string[]> {
  using database = new DatabaseSync(join(dataDir, "hub.sqlite"), { readOnly: true });
  const all = (column: string, table: string): string[] =>
    database
      .prepare(`select distinct ${column} as value from ${table}`)
      .all()
      .map(({ value }) => String(value));
  return {
    id: [...all("id", "projects"), ...all("id", "api_keys"), ...all("id", "blobs")],
    project_id: [project.id, rolled.id],
    host_id: all("host_id", "hosts"),
    host: all("host_id", "joined_hosts"),
    upload: [upload],
    version: [...all("version", "versions"), ...all("version", "trust_roots")],
    root: all("root_id", "trust_roots"),
    slug: ["tide"],
    kind: ["plugin"],
    owner: all("owner", "projects"),
    key: all("public_key", "signers"),
    rollout: all("id", "rollouts"),
    webhook: all("id", "webhooks"),
    invite: all("id", "host_invites"),
    publisher: all("id", "publishers"),
  };
}

/** Returns the paths that a documented one stands for, with each of the values. */
function pathsOf(path: string, values: Readonly<Record<string, string[]>>): string[] {
  const name = /\{([^}]+)\}/.exec(path)?.[1];
  if (name === undefined) return [path];
  return values[name]!.flatMap((value) => pathsOf(path.replace(`{${name}}`, encodeURIComponent(value)), values));
}

/** Queries that the routes ask for, or that change what they answer. */
const QUERIES: Record<string, string[]> = {
  "/app/deployments/deployments/components": ["?name=lodash"],
  "/app/deployments/deployments/{kind}/{slug}/hosts": ["", "?limit=10", "?since=1"],
  "/app/deploy/v1/projects/{project_id}/hosts": ["", "?limit=10", "?since=1"],
};

t.test("no answer of the full hub has a field that its own OpenAPI denies", async (t) => {
  const answers = recordAnswers(t);
  const full = await fullHub(t, `${t.testdir({})}/hub`);
  const { hub, project, rolled } = full;
  await hub.call("POST", "/devkeys/signing-key", { json: { secret: "a secret of a developer" } });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "service", slug: "tide" } });
  await publishFiles(hub, { kind: "service", slug: "tide", version: "1.0.0" }, { "README.md": "# Tide\n" });
  const targets = await hub.call("GET", "/devkeys/projects?limit=100");
  for (const { id, kind, slug } of targets.body.items as { id: string; kind: string; slug: string }[]) {
    const isAsked = id === project.id || id === rolled.id || (kind !== "project" && slug === "tide");
    if (isAsked) await trustAt(hub).publish(rootChain().version(1, [heldKey()]), [id]);
  }
  const { body: document } = await hub.call("GET", "/openapi.json", { key: null });
  const paths = Object.entries(document.paths as Record<string, Record<string, Operation>>);
  const ofProject = [{ bearer: await project.session() }, { bearer: await rolled.session() }, { key: project.key }];
  const upload = newUploadId();
  await cutUpload(hub, placeOf(project), namedForm(publication("9.0.0", { size: 100_000 }), upload), 50_000);
  for (const base of ["/app/marketplace/plugins/tide", "/app/services/services/tide"]) {
    const form = namedArchive("9.0.0", Buffer.alloc(100_000), upload);
    await cutUpload(hub, { base, key: hub.adminKey, route: "versions" }, form, 50_000);
  }
  const values = valuesIn(full, upload);
  for (const [path, { get }] of paths) {
    if (get?.responses["200"]?.content?.["application/json"] === undefined) continue;
    for (const asked of pathsOf(path, values))
      for (const query of QUERIES[path] ?? [""])
        for (const as of path.startsWith("/app/deploy/") ? ofProject : [{}]) await hub.call("GET", asked + query, as);
  }

  const documented = paths.map(([path, operations]) => ({
    path,
    operations,
    matches: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
  }));
  const schemas = new Map<string, z.ZodType>();
  const reached = new Set<string>();
  const denied = new Set<string>();
  for (const { method, path: asked, status, body } of answers) {
    const found = documented.filter(({ matches, operations }) => matches.test(asked) && method in operations);
    const { path, operations } = found.find(({ path: each }) => each === asked) ?? found[0] ?? { path: asked };
    const name = `${method} ${path}: ${status}`;
    const schema = operations?.[method]?.responses[status]?.content?.["application/json"]?.schema;
    if (schema === undefined) continue;
    if (!schemas.has(name)) schemas.set(name, z.fromJSONSchema(schema));
    reached.add(name);
    for (const issue of schemas.get(name)!.safeParse(body).error?.issues ?? [])
      // Patterns of OpenAPI are Unicode's, which this reader does not know.
      if (issue.code !== "invalid_format") denied.add(`${name}: ${issue.path.join(".")}: ${issue.message}`);
  }
  t.strictSame([...denied], []);
  const gets = paths.filter(([, { get }]) => get?.responses["200"]?.content?.["application/json"] !== undefined);
  t.strictSame(
    // A host's own settings are asked with its key (test/lib/hub/features/settings/settings.test.ts).
    gets.map(([path]) => path).filter((path) => !path.endsWith("/host-settings") && !reached.has(`get ${path}: 200`)),
    [],
    "every route that tells something was asked",
  );
});
