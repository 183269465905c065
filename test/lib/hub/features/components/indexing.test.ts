// Only in test:all: documents of 100,000 components, 6 s of a processor.
// Holds: whose SBOM is indexed next (lib/hub/features/components/indexing.ts)
import { join } from "node:path";
import t, { type Test } from "tap";
import { findComponent, indexed } from "../../../../support/hub/components.ts";
import { isErrorBody, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { publishFiles } from "../../../../support/hub/shown-hub.ts";
import {
  type BillComponent,
  billOf,
  state,
  statedProject,
  type StatedVersion,
} from "../../../../support/hub/statements.ts";
import { needs } from "../../../../support/programs/optional.ts";
import { until } from "../../../../support/until.ts";

const many = (count: number, of = "component"): BillComponent[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ name: `${of}-${index}`, version: `1.0.${index}` },
    purl: `pkg:npm/${of}-${index}@1.0.${index}`,
  }));

/** A plugin of an owner, with one version. */
async function pluginOf(hub: RunningHub, owner: string, slug: string): Promise<StatedVersion & { key: string }> {
  const scopes = ["publish", "projects", "read"];
  const { key } = (await hub.call("POST", "/devkeys/api-keys", { json: { name: slug, owner, scopes } })).body as {
    key: string;
  };
  await hub.call("POST", "/devkeys/projects", { key, json: { name: slug, kind: "plugin", slug } });
  const descriptor = `name: ${slug}\nversion: 1.0.0\nentry_point: i.js\nexecution_mode: sandboxed\n`;
  await publishFiles(hub, { slug, version: "1.0.0", key }, { "plugin.yaml": descriptor, "i.js": "1" });
  const target = { kind: "plugin", slug } as const;
  return { hub, target, version: "1.0.0", artifact_sha256: "", content_sha256: null, key };
}

/** Two SBOMs of 99,999 components of one owner: another's small one is indexed before them. */
async function takesTurns(t: Test, hub: RunningHub): Promise<void> {
  const large = [await pluginOf(hub, "large", "whale"), await pluginOf(hub, "large", "shark")];
  const small = await pluginOf(hub, "small", "shrimp");
  for (const [index, plugin] of large.entries()) {
    const bill = billOf(many(99_999, `part${index}`));
    t.equal((await state(plugin, "sbom", bill, undefined, plugin.key)).status, 201);
  }
  const { unindexed } = await findComponent(hub, "any");
  t.ok(
    unindexed.some(({ target, version }) => target === "plugin:shark" && version === "1.0.0"),
    "no answer waits",
  );
  await state(small, "sbom", billOf(many(1, "tiny")), undefined, small.key);
  let left: typeof unindexed = [];
  await until(async () => {
    const found = await findComponent(hub, "tiny-0");
    left = found.unindexed;
    return found.versions.length > 0;
  });
  t.ok(
    left.some(({ target }) => target === "plugin:shark"),
    "before the large ones",
  );
  t.strictSame((await findComponent(hub, "any", small.key)).unindexed, [], "others' versions are others'");
}

t.test("an owner's small SBOM waits for no large one of another", async (t) => {
  await takesTurns(t, await startHub(t, { rateLimits: false }));
});

t.test("neither does it on PostgreSQL", { skip: needs("initdb") }, async (t) => {
  await takesTurns(t, await startHub(t, { rateLimits: false, databaseUrl: (await startPostgres(t))! }));
});

t.test("an indexing that a closed hub had begun goes on after the next start", async (t) => {
  const dataDir = join(t.testdir(), "hub");
  const hub = await startHub(t, { dataDir, rateLimits: false });
  const plugin = await pluginOf(hub, "large", "whale");
  await state(plugin, "sbom", billOf(many(30_000)), undefined, plugin.key);
  await hub.hub.close();
  const again = await startHub(t, { dataDir, rateLimits: false });
  await again.hub.upkeep.run();
  await indexed(again);
  for (const name of ["component-0", "component-29999"])
    t.equal((await findComponent(again, name)).versions.length, 1, name);
});

t.test(
  "SBOMs that repeat, go in circles or hold half a character are indexed; too large ones are refused",
  async (t) => {
    const hub = await startHub(t, { rateLimits: false });
    const same = await pluginOf(hub, "o", "same");
    await state(same, "sbom", billOf(Array.from({ length: 99_999 }, () => many(1)[0]!)), undefined, same.key);
    const circle = await pluginOf(hub, "o", "circle");
    const dependencies = [
      { ref: "a", dependsOn: ["b"] },
      { ref: "b", dependsOn: ["a"] },
    ];
    t.equal((await state(circle, "sbom", billOf(many(2), { dependencies }), undefined, circle.key)).status, 201);
    const half = await pluginOf(hub, "o", "half");
    const bill = billOf([{ name: "half-\ud800", version: "1" }]);
    t.equal((await state(half, "sbom", bill, undefined, half.key)).status, 201);
    await indexed(hub);
    const found = await findComponent(hub, "component-0");
    t.strictSame(found.versions.map(({ target, components }) => [target, components.length]).toSorted(), [
      ["plugin:circle", 1],
      ["plugin:same", 1],
    ]);
    t.equal((await findComponent(hub, "half-\ufffd")).versions.length, 1);
    const huge = await statedProject(hub);
    const million = Buffer.from(
      `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[${`{"type":"a","name":"b"},`.repeat(999_999)}{}]}`,
    );
    isErrorBody(t, await state(huge, "sbom", million), 413, "too_large");
  },
);
