import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { DeployClient } from "../../../lib/client/deploy-client.ts";
import { downloadIndex } from "../../../lib/client/publish-client.ts";
import { deltaLocations } from "../../../lib/contract/surfaces/deploy.ts";
import { chooseBases } from "../../../lib/publisher/publish-deltas.ts";
import {
  buildProject,
  type PublishEvent,
  publishProject,
  sizePublication,
} from "../../../lib/publisher/publish-project.ts";
import { planText } from "../../support/forged/artifact.ts";
import { createProject, startHub } from "../../support/hub/real-hub.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const noise = randomBytes(600_000);

/** A source tree whose large file has one edit for each version. */
function sourceTree(folder: string, project: string, edit: string): string {
  mkdirSync(join(folder, "plugins/demo"), { recursive: true });
  mkdirSync(join(folder, "deployment"), { recursive: true });
  const plan = planText(project, "  - { id: install, action: install_plugin, plugin: demo }\n");
  writeFileSync(join(folder, "deployment/install.yaml"), plan);
  writeFileSync(join(folder, "plugins/demo/plugin.yaml"), "name: demo\nversion: 1.0.0\n");
  writeFileSync(join(folder, "plugins/demo/data.bin"), Buffer.concat([noise, Buffer.from(edit)]));
  return folder;
}

/** Publishes edits of one tree to a hub of its own. */
async function publisher(t: Test) {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const source = temporaryFolder(t);
  const events: PublishEvent[] = [];
  const connection = { hubUrl: hub.url, apiKey: project.key, timeoutMs: 5000 };
  const seed = randomBytes(32);
  const optionsFor = (version: string) => ({
    sourceRoot: sourceTree(source, project.id, version),
    projectId: project.id,
    projectName: "Demo",
    version,
    include: [],
    limits: DEFAULT_LIMITS,
    sourceDateEpoch: 1_700_000_000,
    signal: new AbortController().signal,
    emit: (event: PublishEvent) => void events.push(event),
    seed,
    level: 3,
    hub: connection,
    deltas: { count: 4 },
  });
  const publish = (version: string, more: object = {}) => publishProject({ ...optionsFor(version), ...more });
  return { project, connection, events, optionsFor, publish };
}

t.test("a publication makes deltas from the versions before it, and says how large they are", async (t) => {
  const { project, connection, events, publish } = await publisher(t);
  t.strictSame((await publish("1.0.0")).deltas, [], "there is no earlier version");
  const { deltas, artifact } = await publish("1.1.0");
  t.match(deltas, [{ base_version: "1.0.0" }]);
  t.ok(deltas[0]!.bytes < artifact.size * 0.2, `${deltas[0]!.bytes} of ${artifact.size} bytes`);
  t.equal((await publish("1.2.0")).deltas.length, 2);
  t.equal((await publish("1.3.0", { deltas: { versions: ["1.1.0", "9.0.0"] } })).deltas.length, 1);
  t.match(
    events.filter(({ event }) => event === "delta.skipped"),
    [{ base_version: "9.0.0", reason: /no index/ }],
  );
  t.equal((await publish("1.4.0", { deltas: undefined })).deltas.length, 0);

  const client = new DeployClient(project.id, connection);
  await client.authenticate();
  t.strictSame(
    deltaLocations.parse((await client.locate("1.3.0")).deltas).map(({ base_version }) => base_version),
    ["1.1.0"],
  );
  t.equal((await client.locate("1.4.0")).deltas, undefined);
  t.notOk(events.some(({ event }) => event === "warning"));
});

t.test("nothing is sent or told of deltas before the artifact is visible, and nothing if it never is", async (t) => {
  const { project, connection, events, publish } = await publisher(t);
  await publish("1.0.0");
  events.length = 0;
  await publish("1.1.0");
  t.strictSame(
    events.flatMap(({ event }) => (/^(?:upload\.done|index\.|delta\.)/.test(event) ? [event] : [])),
    ["upload.done", "index.done", "delta.done"],
  );

  const indexOf = async (version: string): Promise<Buffer> => {
    const file = join(temporaryFolder(t), "index");
    await downloadIndex({ ...connection, projectId: project.id }, version, file);
    return readFileSync(file);
  };
  const before = await indexOf("1.1.0");
  events.length = 0;
  const sourceRoot = sourceTree(temporaryFolder(t), project.id, "other content of the same version");
  await t.rejects(publish("1.1.0", { sourceRoot }), { code: "version_exists" });
  t.ok(
    events.some(({ event }) => event === "sign.done"),
    "it was sealed",
  );
  t.strictSame(
    events.filter(({ event }) => /^(?:index|delta|warning)/.test(event)),
    [],
  );
  t.same(await indexOf("1.1.0"), before, "the version that is visible keeps its index");
});

t.test("a dry run tells how large artifact and deltas would be, and publishes nothing", async (t) => {
  const { project, connection, optionsFor, publish } = await publisher(t);
  await publish("1.0.0");
  const options = optionsFor("1.1.0");
  const sizes = await sizePublication(await buildProject({ ...options, chunks: true }), options);
  const client = new DeployClient(project.id, connection);
  await client.authenticate();
  t.equal(await client.latestVersion(), "1.0.0", "nothing was published");
  const published = await publish("1.1.0");
  t.strictSame(published.deltas, sizes.deltas, "the publication makes the deltas that were announced");
  t.equal(published.artifact.size, sizes.artifactBytes);

  const apiKey = "slk_wrong";
  const refused = await sizePublication(published.project, { ...options, hub: { ...connection, apiKey } });
  t.strictSame(
    refused,
    { artifactBytes: sizes.artifactBytes, deltas: [] },
    "without the hub there is only the artifact",
  );
});

t.test("a kept artifact has its index and its deltas with their keys beside it", async (t) => {
  const { publish } = await publisher(t);
  await publish("1.0.0");
  const kept = temporaryFolder(t);
  // What an artifact of this name left that is gone.
  writeFileSync(join(kept, "demo.xdeploy.from-1.0.0"), "stale");
  const { deltas } = await publish("1.1.0", { output: join(kept, "demo.xdeploy") });
  t.strictSame(readdirSync(kept).toSorted(), [
    "demo.xdeploy",
    "demo.xdeploy.from-1.0.0",
    "demo.xdeploy.from-1.0.0.json",
    "demo.xdeploy.index",
    "demo.xdeploy.json",
  ]);
  t.equal(statSync(join(kept, "demo.xdeploy.from-1.0.0")).size, deltas[0]!.bytes);
  t.equal(statSync(join(kept, "demo.xdeploy.from-1.0.0.json")).mode & 0o777, 0o600);
});

t.test("another signer's index is a warning, and the version is published", async (t) => {
  const { events, publish } = await publisher(t);
  await publish("1.0.0", { seed: randomBytes(32) });
  const { outcome, deltas } = await publish("1.1.0", { seed: randomBytes(32) });
  t.equal(outcome, "published");
  t.strictSame(deltas, []);
  t.match(
    events.find(({ event }) => event === "warning"),
    { message: /No delta from 1\.0\.0 was made: .*not sealed by this signer/ },
  );
});

t.test("bases: what the fleet runs comes first, and the last version has a place", async (t) => {
  const known = (version: string, hosts: number) => ({ version, hosts, content_sha256: "0".repeat(64), size_bytes: 1 });
  const earlier = [known("1.2.0", 9), known("1.1.0", 5), known("1.0.0", 1), known("1.3.0", 0), known("0.9.0", 0)];
  t.strictSame(chooseBases(earlier, { count: 4 }, "1.4.0"), ["1.2.0", "1.1.0", "1.0.0", "1.3.0"]);
  t.strictSame(chooseBases(earlier, { count: 2 }, "1.4.0"), ["1.2.0", "1.3.0"]);
  t.strictSame(chooseBases(earlier, { count: 5 }, "1.2.0"), ["1.1.0", "1.0.0", "1.3.0", "0.9.0"], "not from itself");
  t.strictSame(chooseBases(earlier, { count: 0 }, "1.4.0"), []);
  t.strictSame(chooseBases(earlier, { versions: ["1.0.0", "7.0.0"] }, "1.4.0"), ["1.0.0"]);
});
