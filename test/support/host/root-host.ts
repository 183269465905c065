/** A project whose signers are named by a trust root at a real hub, and hosts that follow it. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployOptions, type DeployResult } from "../../../lib/agent/deployment/run.ts";
import type { Finding } from "../../../lib/agent/finding.ts";
import { rootFindings } from "../../../lib/agent/root-standing.ts";
import { projectSource } from "../../../lib/agent/sources/project.ts";
import type { RootChoice } from "../../../lib/agent/sources/trust-root.ts";
import type { TurnResult } from "../../../lib/agent/watch/check-result.ts";
import type { WatchEvent } from "../../../lib/agent/watch/events.ts";
import { projectPoll, type WatchTarget } from "../../../lib/agent/watch/target.ts";
import { Watch } from "../../../lib/agent/watch/watch.ts";
import { rootFileName } from "../../../lib/contract/trust/marks.ts";
import { type Layout, layoutOf } from "../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { readFollowedRoot } from "../../../lib/releases/trust-roots.ts";
import { forgedArtifact, forgedFrame, projectTar } from "../forged/artifact.ts";
import { type HeldKey, type RootChain, rootChain } from "../forged/roots.ts";
import { createProject, type ProjectAccess, type RunningHub, sha256, startHub } from "../hub/harness.ts";
import { type LyingWire, type RootAnswer, sends, startLyingWire } from "../hub/lying-wire.ts";
import { trustAt } from "../hub/trust.ts";
import { snapshot } from "./attacked-host.ts";

/** Project at a real hub whose first signer has published 1.0.0, and who stands between it and hosts. */
export interface RootedProject {
  hub: RunningHub;
  project: ProjectAccess;
  /** Root of the project: 2 of 3 holders sign. Nothing of it is published yet. */
  chain: RootChain;
  wire: LyingWire;
  /** Publishes a version of the project by a signer. */
  release: (version: string, signer: HeldKey) => Promise<void>;
  /** Publishes a version of the root at the hub, for the project. */
  publishRoot: (text: string) => Promise<void>;
  /** Returns a host that asks through the wire. */
  host: (choice?: Partial<RootChoice>) => Promise<RootHost>;
}

export interface RootHost {
  /** Folder around the project root. */
  outside: string;
  layout: Layout;
  /** Events of everything so far. */
  events: (AgentEvent | WatchEvent)[];
  /** Choice of the operator; it may be changed. */
  choice: RootChoice;
  /** Root URLs of the mirrors that it uses; more may be added. */
  mirrors: string[];
  /** Deploys a version by hand. */
  deploy(version?: string, options?: Partial<DeployOptions>): Promise<DeployResult>;
  /** Runs one check of a watch, as `sealift watch --once`. */
  check(): Promise<TurnResult>;
  target: WatchTarget;
  /** Version of the root that counts; undefined for none. */
  version(): Promise<number | undefined>;
  /** Versions of the root in the project root, in order. */
  kept(): Promise<number[]>;
  /** Version of the project that is installed; undefined for none. */
  running(): Promise<string | undefined>;
  /** Versions in quarantine. */
  quarantined(): Promise<string[]>;
  /** Findings of `sealift doctor` about the root. */
  findings(): Promise<Finding[]>;
  /** Code of each refusal of a root so far. */
  refusals(): string[];
  /** Runs a check in which the wire gives a document as the next version, which must be refused and change nothing. */
  refuses(t: Test, document: string | Buffer | RootAnswer, code: string, what?: string): Promise<void>;
}

/** Writes a version of a root as an operator has it. @returns its path */
export async function rootFile(folder: string, version: number, text: string): Promise<string> {
  const file = join(folder, rootFileName(version));
  await mkdir(folder, { recursive: true });
  await writeFile(file, text);
  return file;
}

/** Starts a hub with a project whose 1.0.0 is signed by `signer`, and a wire in front of it. */
export async function rootedProject(t: Test, signer: HeldKey): Promise<RootedProject> {
  const hub = await startHub(t, { rateLimits: false, dataDir: join(await temporary(t), "hub") });
  const project = await createProject(hub);
  const wire = await startLyingWire(t, hub.url);
  const rooted: RootedProject = {
    ...{ hub, project, wire, chain: rootChain() },
    async release(version, { hex, privateKey }) {
      const tar = projectTar({ projectId: project.id, version });
      const keys = { publicKey: Buffer.from(hex, "hex"), privateKey };
      const { file: bytes, dek, signature, publicKey } = forgedArtifact(forgedFrame(tar), keys);
      const answer = await project.publish({
        ...{ version, bytes, dek, signature, publicKey },
        contentSha256: /"content_sha256": ?"([0-9a-f]{64})"/.exec(tar.toString("latin1"))?.[1] ?? sha256(version),
      });
      if (answer.status !== 201) throw new Error(`publishing ${version}: ${JSON.stringify(answer.body)}`);
    },
    async publishRoot(text) {
      const answer = await trustAt(hub).publish(text, [project.id]);
      if (answer.status !== 201) throw new Error(`publishing a root: ${JSON.stringify(answer.body)}`);
    },
    host: (choice = {}) => rootHost(t, rooted, choice),
  };
  await rooted.release("1.0.0", signer);
  return rooted;
}

/** A folder that is removed with the test; many can stand side by side. */
async function temporary(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sealift-roots-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns a host that follows version 1 of the project's root, by a file, and runs 1.0.0. */
export async function followingHost({ host, chain }: RootedProject, signer: HeldKey): Promise<RootHost> {
  const one = await host();
  one.choice.file = await rootFile(one.outside, 1, chain.version(1, [signer]));
  const { outcome, error } = await one.check();
  if (outcome !== "deployed") throw new Error(`the first deployment is ${outcome}: ${error?.message}`);
  one.events.length = 0;
  return one;
}

async function rootHost(t: Test, { project, wire }: RootedProject, given: Partial<RootChoice>): Promise<RootHost> {
  const outside = await temporary(t);
  const layout = layoutOf(join(outside, "host"));
  await mkdir(layout.root);
  const events: RootHost["events"] = [];
  const choice: RootChoice = { pinned: [], sources: [], ...given };
  const mirrors: string[] = [];
  const connection = { hubUrl: wire.url, apiKey: project.key, timeoutMs: 10_000, mirrors };
  const source = (version: string) =>
    projectSource({
      ...{ ...connection, projectId: project.id, version, deploymentCredential: project.credential },
      trust: { follow: choice },
    });
  const supervisor = { name: "none" } as const;
  const options = { ...DEPLOY_DEFAULTS, projectRoot: layout.root, hostId: "host-1", supervisor };
  const { target: name } = source("latest");
  const target: WatchTarget = {
    ...{ name, intervalMs: 60_000, hub: wire.url, source, options },
    poll: projectPoll(project.id, connection),
  };
  const kept: RootHost["kept"] = async () => {
    const names = await readdir(layout.roots(name)).catch(() => []);
    return names.map((file) => Number(/^(\d+)\.root\.json$/.exec(file)?.[1])).toSorted((a, b) => a - b);
  };
  const one: RootHost = {
    ...{ outside, layout, events, choice, mirrors, target, kept },
    deploy: (version = "latest", more = {}) =>
      deploy(source(version), { ...options, durability: "none", ...more }, (event) => events.push(event)),
    async check() {
      const watch = new Watch([target], (event) => events.push(event));
      const [result] = await watch.once(new AbortController().signal);
      return result!;
    },
    version: async () => (await readFollowedRoot(layout, name))?.version,
    running: async () => {
      const text = await readFile(join(layout.root, "plugins/demo/src/main.js"), "utf8").catch(() => undefined);
      return text === undefined ? undefined : /"(.*)"/.exec(text)![1];
    },
    quarantined: async () => (await readQuarantine(layout, name)).map(({ version }) => version),
    findings: async () => {
      const found: Finding[] = [];
      for await (const finding of rootFindings(layout, name, Date.now())) found.push(finding);
      return found;
    },
    refusals: () => events.flatMap((event) => (event.event === "trust.refused" ? [event.code] : [])),
    async refuses(t, document, code, what = code) {
      await mkdir(layout.roots(name), { recursive: true });
      const before = snapshot(layout.roots(name));
      const version = (await one.version()) ?? 0;
      events.length = 0;
      wire.named = version + 1;
      wire.root = typeof document === "function" ? document : sends(document);
      const result = await one.check();
      t.notOk(result.error, `${what}: the check goes on: ${result.error?.message}`);
      t.strictSame(one.refusals(), [code], what);
      t.strictSame(snapshot(layout.roots(name)), before, `${what}: nothing is kept`);
      t.equal((await one.version()) ?? 0, version, `${what}: the root stays`);
      wire.named = wire.root = undefined;
    },
  };
  return one;
}
