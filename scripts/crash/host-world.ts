import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Emit } from "../../lib/agent/base/events.ts";
import { deploy } from "../../lib/agent/deployment/deploy.ts";
import { rollback } from "../../lib/agent/deployment/rollback.ts";
import { DEPLOY_DEFAULTS, type DeployOptions, type DeployResult } from "../../lib/agent/deployment/run.ts";
import { projectSource } from "../../lib/agent/sources/project.ts";
import type { Source } from "../../lib/agent/sources/source.ts";
import { DEFAULT_LIMITS } from "../../lib/artifact/limits.ts";
import { publicKeyOf } from "../../lib/artifact/signatures/ed25519.ts";
import { deploymentError } from "../../lib/contract/errors.ts";
import { createHub } from "../../lib/hub/hub.ts";
import { publishProject } from "../../lib/publisher/publish-project.ts";
import { plant } from "../../test/support/host/project-root.ts";
import { createProject, hubAt } from "../../test/support/hub/harness.ts";
import { Applications } from "./applications.ts";
import { VERSIONS } from "./host-versions.ts";

/** Hub with the versions of a project, and agents that deploy them: the product's own code in this process. */
export class HostWorld implements AsyncDisposable {
  readonly #close: () => Promise<void>;
  readonly #source: (version: string) => Source;
  readonly #applications = new Map<string, Applications>();

  /** Arguments and variables with which `deploy-project` deploys from this hub. */
  readonly program: { args: readonly string[]; env: Record<string, string> };

  private constructor(close: () => Promise<void>, source: (version: string) => Source, program: HostWorld["program"]) {
    this.#close = close;
    this.program = program;
    this.#source = source;
  }

  static async make(folder: string): Promise<HostWorld> {
    const hub = await createHub({ listen: { host: "127.0.0.1", port: 0 }, dataDir: join(folder, "hub") });
    const hubUrl = await hub.listen();
    const admin = (await readFile(join(folder, "hub", "admin.key"), "utf8")).trim();
    const { id: projectId, key: apiKey, credential: deploymentCredential } = await createProject(hubAt(hubUrl, admin));
    const seed = randomBytes(32);
    for (const [version, { plan: planText, files }] of Object.entries(VERSIONS)) {
      const sourceRoot = join(folder, `source-${version}`);
      await plant(sourceRoot, { "deployment/install.yaml": planText(projectId, version), ...files });
      await publishProject({
        ...{ sourceRoot, projectId, projectName: "Shop", version, include: [], limits: DEFAULT_LIMITS, level: 1, seed },
        ...{ signal: new AbortController().signal, emit: () => {}, hub: { hubUrl, apiKey, timeoutMs: 30_000 } },
      });
    }
    const trust = { pinned: [publicKeyOf(seed)] };
    await plant(folder, { "signer.pub": Buffer.from(trust.pinned[0]!).toString("hex") });
    const connection = { hubUrl, apiKey, deploymentCredential, timeoutMs: 30_000 };
    return new HostWorld(
      () => hub.close(),
      (version) => projectSource({ ...connection, projectId, version, trust, delta: false }),
      {
        args: ["--project-id", projectId, "--signer-public-key", join(folder, "signer.pub"), "--host-id", "host"],
        env: {
          ...{ SEALIFT_HUB_URL: hubUrl, SEALIFT_API_KEY: apiKey },
          SEALIFT_DEPLOYMENT_CREDENTIAL: deploymentCredential,
        },
      },
    );
  }

  async deploy(
    root: string,
    version: string,
    options: Partial<DeployOptions> = {},
    listener: Emit = () => {},
  ): Promise<DeployResult> {
    return await deploy(this.#source(version), { ...this.#optionsFor(root), ...options }, listener);
  }

  async rollback(root: string, options: Partial<DeployOptions> = {}): Promise<DeployResult> {
    const { kind, slug } = this.#source("latest");
    return await rollback({ kind, slug }, { ...this.#optionsFor(root), ...options }, () => {});
  }

  /** Runs the next deployment, which ends what a killed one left, and then finds no hub. */
  async recover(root: string): Promise<DeployResult> {
    const source = this.#source("latest");
    const resolve = () => Promise.reject(deploymentError("connection_failed", "There is no hub."));
    return await deploy({ ...source, resolve, report: () => resolve() }, this.#optionsFor(root), () => {});
  }

  /** Returns the applications of a root, of which none runs at first. */
  applications(root: string): Applications {
    return this.#applications.getOrInsertComputed(root, () => new Applications(root));
  }

  #optionsFor(projectRoot: string): DeployOptions {
    const applications = async () => this.applications(projectRoot).supervisor();
    const supervisor = { name: "none" as const, applications };
    return { ...DEPLOY_DEFAULTS, projectRoot, hostId: "host", supervisor, allowDowngrade: true };
  }

  get target(): Source["target"] {
    return this.#source("latest").target;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
