import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { projectSource, type ProjectSourceOptions } from "../../../lib/agent/sources/project.ts";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import { publishProject } from "../../../lib/publisher/publish-project.ts";
import { planText } from "../forged/artifact.ts";
import { createProject, startHub } from "../hub/real-hub.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { mayChange, snapshot } from "./attacked-host.ts";

const SEED = randomBytes(32);
const noise = randomBytes(500_000);

/** A hub, a project whose versions differ by one edit, and hosts that deploy it. */
export async function deltaFleet(t: Test) {
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
  const sourceOf = (version: string, more: FleetOptions = {}) =>
    projectSource({
      ...connection,
      projectId: project.id,
      version,
      deploymentCredential: project.credential,
      trust: { pinned: [publicKeyOf(SEED)] },
      ...more,
    });
  const deployTo = async (root: string, version: string, more: FleetOptions = {}) => {
    const events: AgentEvent[] = [];
    const options = {
      ...DEPLOY_DEFAULTS,
      projectRoot: root,
      hostId: "host",
      supervisor: { name: "none" as const },
      allowDowngrade: true,
    };
    const result = await deploy(sourceOf(version, more), options, (event) => events.push(event));
    const find = <E extends AgentEvent["event"]>(name: E) =>
      events.find((event): event is Extract<AgentEvent, { event: E }> => event.event === name);
    return { result, events, find };
  };
  const release = (root: string) => releaseOf(root, project.id);
  return { hub, hubUrl: hub.url, project, connection, plant, publish, sourceOf, deployTo, release };
}

type FleetOptions = Pick<
  Partial<ProjectSourceOptions>,
  "delta" | "hubUrl" | "mirrors" | "leastRate" | "deploymentCredential"
>;

/** The tree that runs in a project root: the files of the current release, as they are. */
function releaseOf(root: string, project: string): Record<string, string> {
  const current = join(root, ".sealift/current", `project-${project}`);
  const volatile = (path: string): boolean => ["release.json", "contents.ndjson"].includes(path) || mayChange(path);
  return snapshot(current, volatile);
}
