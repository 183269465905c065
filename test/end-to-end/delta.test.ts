import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { deploy } from "../../lib/agent/deployment/deploy.ts";
import type { AgentEvent } from "../../lib/agent/deployment/events.ts";
import { projectSource } from "../../lib/agent/sources/project.ts";
import { DEFAULT_LIMITS } from "../../lib/artifact/limits.ts";
import { publicKeyOf } from "../../lib/artifact/signatures/ed25519.ts";
import { publishProject } from "../../lib/publisher/publish-project.ts";
import { planText } from "../support/forged/artifact.ts";
import { mayChange, snapshot } from "../support/host/attacked-host.ts";
import { createProject, startHub } from "../support/hub/real-hub.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SEED = randomBytes(32);
const noise = randomBytes(500_000);

/** A hub, a project whose versions differ by one edit, and hosts that deploy it. */
async function fleet(t: Test) {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const connection = { hubUrl: hub.url, apiKey: project.key, timeoutMs: 10_000 };
  const source = temporaryFolder(t);
  const plant = (path: string, content: string | Uint8Array): void => {
    mkdirSync(join(source, path, ".."), { recursive: true });
    writeFileSync(join(source, path), content);
  };
  const steps = "  - { id: install, action: install_plugin, plugin: demo }\n";
  plant("deployment/install.yaml", planText(project.id, steps));
  plant("README.md", "kept apart");
  plant("plugins/demo/plugin.yaml", "name: demo\nversion: 1.0.0\n");
  plant("plugins/demo/data/seed.txt", "a seed");
  plant("plugins/demo/run.sh", "#!/bin/sh\n");
  chmodSync(join(source, "plugins/demo/run.sh"), 0o755);
  const publish = async (version: string, edit = version, seed: Uint8Array = SEED): Promise<void> => {
    plant("plugins/demo/noise.bin", Buffer.concat([noise, Buffer.from(edit)]));
    plant(`plugins/demo/only-${version}.txt`, version);
    await publishProject({
      sourceRoot: source,
      projectId: project.id,
      projectName: "Demo",
      version,
      include: [],
      limits: DEFAULT_LIMITS,
      signal: new AbortController().signal,
      emit: () => {},
      seed,
      level: 3,
      hub: connection,
      deltas: { count: 4 },
    });
    rmSync(join(source, `plugins/demo/only-${version}.txt`));
  };
  const deployTo = async (root: string, version: string, more: { delta?: boolean } = {}) => {
    const events: AgentEvent[] = [];
    const given = projectSource({
      ...connection,
      projectId: project.id,
      version,
      deploymentCredential: project.credential,
      trust: { pinned: publicKeyOf(SEED) },
      ...more,
    });
    const options = { projectRoot: root, hostId: "host", supervisor: { name: "none" as const }, allowDowngrade: true };
    const result = await deploy(given, options, (event) => events.push(event));
    const find = <E extends AgentEvent["event"]>(name: E) =>
      events.find((event): event is Extract<AgentEvent, { event: E }> => event.event === name);
    return { result, events, find };
  };
  return { project, publish, deployTo, release: (root: string) => releaseOf(root, project.id) };
}

/** What runs in a project root: the files of the current release, as they are. */
function releaseOf(root: string, project: string): Record<string, string> {
  const current = join(root, ".sealift/current", `project-${project}`);
  const volatile = (path: string): boolean => ["release.json", "contents.ndjson"].includes(path) || mayChange(path);
  return snapshot(current, volatile);
}

t.test("an upgrade takes the delta, and leaves the release that the full artifact would have left", async (t) => {
  const { publish, deployTo, release } = await fleet(t);
  const [a, b] = [temporaryFolder(t), temporaryFolder(t)];
  await publish("1.0.0");
  t.equal((await deployTo(a, "1.0.0")).find("delta.chosen"), undefined, "the first version has nothing to build on");
  await publish("1.1.0");
  const { result, find } = await deployTo(a, "1.1.0");
  t.match(result, { outcome: "deployed", version: "1.1.0" });
  const chosen = find("delta.chosen")!;
  t.equal(chosen.base_version, "1.0.0");
  t.ok(chosen.size_bytes < chosen.full_size_bytes! * 0.2);
  t.equal(find("fetch.done")!.bytes, chosen.size_bytes, "no more bytes came than the delta has");
  await deployTo(b, "1.1.0");
  t.strictSame(release(a), release(b));

  await publish("1.2.0");
  t.equal(
    (await deployTo(a, "1.2.0")).find("delta.chosen")?.base_version,
    "1.1.0",
    "a completed release is a base, too",
  );
  await deployTo(b, "1.2.0", { delta: false });
  t.strictSame(release(a), release(b));
  t.equal((await deployTo(a, "1.2.0")).result.outcome, "unchanged");
});

t.test("a kept release is a base as well as the running one", async (t) => {
  const { publish, deployTo } = await fleet(t);
  const root = temporaryFolder(t);
  await publish("1.0.0");
  await publish("1.1.0");
  await deployTo(root, "1.0.0");
  await deployTo(root, "1.1.0", { delta: false });
  await publish("1.2.0");
  await publish("1.3.0", "1.0.0");
  const { find } = await deployTo(root, "1.3.0");
  t.ok(["1.0.0", "1.1.0"].includes(find("delta.chosen")!.base_version));
});

t.test("a base that was changed falls back to the full artifact in the same run", async (t) => {
  const { publish, deployTo, release, project } = await fleet(t);
  const [a, b] = [temporaryFolder(t), temporaryFolder(t)];
  await publish("1.0.0");
  await publish("1.1.0");
  await deployTo(b, "1.1.0");
  const releases = join(a, ".sealift/releases", `project-${project.id}`);
  const changes: Record<string, (folder: string) => void> = {
    "an installed file": (folder) => writeFileSync(join(folder, "plugins/demo/run.sh"), "#!/bin/bash\n"),
    "a file of the rest": (folder) => rmSync(join(folder, "rest/README.md")),
    "a seed": (folder) => writeFileSync(join(folder, "shipped-data/plugins/demo/seed.txt"), "another"),
    "the list": (folder) => writeFileSync(join(folder, "tree.ndjson"), "{}\n"),
  };
  for (const [what, change] of Object.entries(changes)) {
    rmSync(a, { recursive: true, force: true });
    await deployTo(a, "1.0.0");
    change(join(releases, readdirSync(releases)[0]!));
    const { result, find } = await deployTo(a, "1.1.0");
    t.match(find("delta.failed"), { base_version: "1.0.0", code: "delta_base_changed" }, what);
    t.equal(result.outcome, "deployed", what);
    t.strictSame(release(a), release(b), what);
  }
});

t.test("a delta of another signer than the pinned one is left alone", async (t) => {
  const { publish, deployTo } = await fleet(t);
  const root = temporaryFolder(t);
  await publish("1.0.0");
  await deployTo(root, "1.0.0");
  await publish("1.1.0", "1.1.0", randomBytes(32));
  const { result, find } = await deployTo(root, "1.1.0");
  t.equal(find("delta.chosen"), undefined);
  t.match(result, { outcome: "failed", error: { code: "signer_untrusted" } });
});
