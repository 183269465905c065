/** A host with a policy, and a hub whose project has statements: real certificates, real deployments. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ed25519 } from "@noble/curves/ed25519.js";
import type { Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployOptions, type DeployResult } from "../../../lib/agent/deployment/run.ts";
import { readPolicy } from "../../../lib/agent/policy/policy-file.ts";
import { projectSource } from "../../../lib/agent/sources/project.ts";
import { projectPoll, type WatchTarget } from "../../../lib/agent/watch/target.ts";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import { publishProject } from "../../../lib/publisher/publish-project.ts";
import type { GivenStatements } from "../../../lib/publisher/statements.ts";
import { addStatements, readStatements } from "../../../lib/publisher/statements.ts";
import { createProject, type RunningHub, type Signer, startHub } from "../hub/harness.ts";
import { type Attestation, type Sigstore, startSigstore } from "../hub/sigstore.ts";
import { billOf } from "../hub/statements.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { plant } from "./project-root.ts";

export interface PolicyHost {
  hub: RunningHub;
  projectId: string;
  key: string;
  folder: string;
  sigstore: Sigstore;
  /** The signer of its versions. */
  signer: Signer;
  /** Publishes a version. @returns the digest of its tree */
  publish(version: string): Promise<string>;
  /** Adds statements to a version, as its signer. @param bundle of its provenance, or how it is attested */
  state(version: string, given: { provenance?: Attestation | object; sbom?: boolean; urgent?: string }): Promise<void>;
  /**
   * Deploys a version under a policy.
   *
   * @param policy lines of policy.yaml
   * @param liar the hub that is asked for statements, in place of the real one
   */
  deploy(version: string, policy: string, liar?: string): Promise<DeployResult>;
  /** The project, as a watch follows it. @param policy lines of policy.yaml; undefined for none */
  target(policy: string | undefined, intervalMs: number): Promise<WatchTarget>;
  events: AgentEvent[];
}

export async function policyHost(t: Test): Promise<PolicyHost> {
  const hub = await startHub(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  const { id: projectId, key, credential } = await createProject(hub);
  const seed = randomBytes(32);
  const sigstore = await startSigstore();
  const root = join(folder, "root");
  await mkdir(root);
  await writeFile(join(folder, "trusted_root.json"), sigstore.trustedRoot);
  const connection = { hubUrl: hub.url, apiKey: key, timeoutMs: 30_000 };
  const trees = new Map<string, string>();
  const events: AgentEvent[] = [];
  const sourceOf = (version: string) =>
    projectSource({
      ...connection,
      ...{ projectId, version, deploymentCredential: credential, trust: { pinned: [publicKeyOf(seed)] } },
    });
  const optionsOf = async (policy: string | undefined): Promise<DeployOptions> => {
    const file = join(folder, "policy.yaml");
    if (policy !== undefined) await writeFile(file, policy);
    return {
      ...DEPLOY_DEFAULTS,
      ...{ projectRoot: root, hostId: "host", supervisor: { name: "none" }, durability: "none" },
      policy: policy === undefined ? undefined : await readPolicy(file),
    };
  };
  return {
    ...{ hub, projectId, key, folder, sigstore, events },
    signer: { publicKey: Buffer.from(publicKeyOf(seed)), sign: (bytes) => Buffer.from(ed25519.sign(bytes, seed)) },
    async publish(version) {
      const sourceRoot = join(folder, `source-${version}`);
      const plan = `format_version: "1"\nproject_id: ${projectId}\nversion: ${version}\nsteps:\n  - {id: install, action: install_plugin, plugin: tide}\n`;
      await plant(sourceRoot, {
        "deployment/install.yaml": plan,
        "plugins/tide/plugin.yaml": `name: tide\nversion: ${version}\nexecution_mode: trusted\n`,
        "plugins/tide/version": version,
      });
      const { project } = await publishProject({
        ...{ sourceRoot, projectId, projectName: "Demo", version, include: [], limits: DEFAULT_LIMITS, seed, level: 1 },
        ...{ signal: new AbortController().signal, emit: () => {}, hub: connection },
      });
      const { content_sha256: tree } = project.manifest;
      trees.set(version, tree);
      return tree;
    },
    async state(version, { provenance, sbom, urgent }) {
      const given: GivenStatements = { urgent };
      if (provenance !== undefined) {
        given.provenance = join(folder, `provenance-${version}.json`);
        const bundle = "subjects" in provenance ? await sigstore.attest(provenance) : provenance;
        await writeFile(given.provenance, JSON.stringify(bundle));
      }
      if (sbom === true) {
        given.sbom = join(folder, `bom-${version}.json`);
        await writeFile(given.sbom, billOf([{ name: "lodash", version: "4.17.20" }]));
      }
      const target = { kind: "project", slug: projectId } as const;
      const about = { version, content_sha256: trees.get(version)! };
      await addStatements(connection, target, about, await readStatements(given), seed);
    },
    async deploy(version, policy, liar = hub.url) {
      const told = { ...sourceOf(version), connection: { ...connection, hubUrl: liar } };
      return deploy(told, await optionsOf(policy), (event) => events.push(event));
    },
    target: async (policy, intervalMs) => ({
      ...{ name: "project:Demo", hub: hub.url, intervalMs, poll: projectPoll(projectId, connection) },
      ...{ source: sourceOf, options: await optionsOf(policy) },
    }),
  };
}

/** The version that a host runs; undefined while none does. */
export const installed = (folder: string): Promise<string | undefined> =>
  readFile(join(folder, "root", "plugins", "tide", "version"), "utf8").catch(() => undefined);
