// Holds: Renovate gets the versions of a hub by the settings of its page (docs/versions.md)
import { readFileSync } from "node:fs";
import jsonata from "jsonata";
import t from "tap";
import { startHub } from "../support/hub/harness.ts";
import { publishFiles } from "../support/hub/shown-hub.ts";

interface Renovate {
  customDatasources: Record<string, { defaultRegistryUrlTemplate: string; transformTemplates: [string] }>;
  hostRules: [{ matchHost: string; headers: Record<string, string> }];
  customManagers: [{ matchStrings: [string]; datasourceTemplate: string; managerFilePatterns: string[] }];
}

/** Fields that Renovate takes of a custom datasource's answer. */
interface Releases {
  releases: { version: string; releaseTimestamp: string; isDeprecated: boolean; digest: string }[];
}

const page = readFileSync("docs/versions.md", "utf8");
const section = page.slice(page.indexOf("## New versions by Renovate"));
const settings = JSON.parse(/```json\n([^]*?)```/.exec(section)![1]!) as Renovate;
const [name, { defaultRegistryUrlTemplate, transformTemplates }] = Object.entries(settings.customDatasources)[0]!;

t.test("a hub's answer becomes the releases of a plugin", async (t) => {
  const hub = await startHub(t);
  const { body } = await hub.call("POST", "/devkeys/projects", {
    json: { name: "Tide table", kind: "plugin", slug: "tide-table" },
  });
  t.equal(body.slug, "tide-table");
  const descriptor = "name: tide-table\nentry_point: i.js\nexecution_mode: sandboxed\n";
  for (const version of ["1.0.0", "1.1.0", "1.2.0"])
    await publishFiles(
      hub,
      { slug: "tide-table", version },
      { "plugin.yaml": `${descriptor}version: ${version}\n`, "i.js": version },
    );
  const path = "/app/marketplace/plugins/tide-table/versions";
  await hub.call("POST", `${path}/1.2.0/yank`, { json: { reason: "loses data" } });
  await hub.call("POST", `/devkeys/projects/${body.id as string}/versions/1.0.0/deprecation`, {
    json: { message: "old" },
  });

  const made = await hub.call("POST", "/devkeys/api-keys", { json: { name: "renovate", scopes: ["read"] } });
  const [{ headers, matchHost }] = settings.hostRules;
  const secret = (text: string) => text.replace("{{ secrets.SEALIFT_API_KEY }}", made.body.key as string);
  const url = defaultRegistryUrlTemplate.replace("{{packageName}}", "tide-table").replace(matchHost, hub.url);
  const answer = await fetch(url, {
    headers: Object.fromEntries(Object.entries(headers).map(([header, text]) => [header, secret(text)])),
  });
  t.equal(answer.status, 200);
  const { releases } = (await jsonata(transformTemplates[0]).evaluate(await answer.json())) as Releases;
  t.match(
    releases.map(({ version, isDeprecated }) => `${version} ${isDeprecated}`),
    ["1.1.0 false", "1.0.0 true"],
  );
  for (const { releaseTimestamp, digest } of releases) {
    t.ok(Date.parse(releaseTimestamp) > 0);
    t.match(digest, /^[0-9a-f]{64}$/);
  }
});

t.test("a plugin with one version, or with none that is not yanked, has a list", async (t) => {
  const evaluate = (items: object[]) => jsonata(transformTemplates[0]).evaluate({ items }) as Promise<Releases>;
  const one = { version: "1.0.0", is_yanked: false, created_at: "2026-11-20T08:12:31Z", sha256: "0".repeat(64) };
  t.equal((await evaluate([one])).releases.length, 1);
  t.strictSame([...(await evaluate([{ ...one, is_yanked: true }])).releases], []);
});

t.test("the marked line of a file is found", async (t) => {
  const [{ matchStrings, datasourceTemplate, managerFilePatterns }] = settings.customManagers;
  t.equal(datasourceTemplate, `custom.${name}`);
  const example = /```yaml\n([^]*?)```/.exec(section)![1]!;
  t.match(new RegExp(matchStrings[0]).exec(example)?.groups, { depName: "tide-table", currentValue: "1.4.0" });
  const patterns = managerFilePatterns.map((pattern) => new RegExp(pattern.slice(1, -1)));
  t.ok(patterns.some((pattern) => pattern.test("deploy/plan.yaml")));
});
