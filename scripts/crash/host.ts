import { randomBytes } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
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
import { differences, type Disk } from "./disk.ts";
import { Hook } from "./hook.ts";
import { HostFacts, type Installed, installed, shippedText } from "./host-facts.ts";
import type { Scenario } from "./scenario.ts";

const plan = (plugins: readonly string[]) => (projectId: string, version: string) =>
  `format_version: "1"\nproject_id: ${projectId}\nversion: ${version}\nsteps:\n${plugins
    .map((id) => `  - {id: install-${id}, action: install_plugin, plugin: ${id}}\n`)
    .join("")}  - {id: env, action: write_env, plugin: shop, from: .env.template}\n`;

const pluginFiles = (id: string, version: string): Record<string, string> => ({
  [`plugins/${id}/plugin.yaml`]: `name: ${id}\nversion: ${version}\n`,
  [`plugins/${id}/main.js`]: `export default ${JSON.stringify(`${id} ${version} `.repeat(300))};\n`,
  [`plugins/${id}/deep/er/version`]: version,
});

/** Versions of one project: one plugin stays, one goes, one comes, and each version ships more data. */
const VERSIONS: Record<string, { plan: ReturnType<typeof plan>; files: Record<string, string> }> = Object.fromEntries(
  ["1.0.0", "1.1.0", "1.2.0"].map((version, index) => {
    const plugins = ["shop", ["old", "new", "newer"][index]!];
    const shipped = {
      [`plugins/shop/data/shipped/${version}`]: shippedText(version),
      "plugins/shop/.env.template": "PORT=80\n",
    };
    return [
      version,
      {
        plan: plan(plugins),
        files: { ...shipped, ...Object.fromEntries(plugins.flatMap((id) => Object.entries(pluginFiles(id, version)))) },
      },
    ];
  }),
);

/**
 * Hub with three versions of a project, and agents that deploy them: all of it the product's own code in this process.
 */
export class HostWorld implements AsyncDisposable {
  readonly #close: () => Promise<void>;
  readonly #source: (version: string) => Source;

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
    return await deploy(this.#source(version), { ...optionsFor(root), ...options }, listener);
  }

  async rollback(root: string, options: Partial<DeployOptions> = {}): Promise<DeployResult> {
    const { kind, slug } = this.#source("latest");
    return await rollback({ kind, slug }, { ...optionsFor(root), ...options }, () => {});
  }

  /** Runs the next deployment, which ends what a killed one left, and then finds no hub. */
  async recover(root: string): Promise<DeployResult> {
    const source = this.#source("latest");
    const resolve = () => Promise.reject(deploymentError("connection_failed", "There is no hub."));
    return await deploy({ ...source, resolve, report: () => resolve() }, optionsFor(root), () => {});
  }

  get target(): Source["target"] {
    return this.#source("latest").target;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

const optionsFor = (projectRoot: string): DeployOptions => ({
  ...{ ...DEPLOY_DEFAULTS, projectRoot, hostId: "host", supervisor: { name: "none" as const }, allowDowngrade: true },
});

interface HostRun {
  name: string;
  /** Prepares the host; all of it is durable. */
  before?: (world: HostWorld, root: string) => Promise<unknown>;
  run: (world: HostWorld, root: string, options: Partial<DeployOptions>) => Promise<DeployResult>;
  /** Version that runs afterwards. */
  end: string;
  /** Releases to keep. */
  keepReleases?: number;
  /** Files that must exist in every state: they belong to the host. */
  kept?: Record<string, string>;
}

const OWN_DATA = { ".sealift/data/plugins/shop/own.db": "the host's own rows" };
const BY_HAND = { ...pluginFiles("shop", "by hand"), "plugins/shop/data/own.db": "the host's own rows" };

const RUNS: HostRun[] = [
  { name: "first deployment", run: (world, root, options) => world.deploy(root, "1.0.0", options), end: "1.0.0" },
  {
    name: "upgrade",
    before: async (world, root) => {
      await world.deploy(root, "1.0.0");
      await plant(root, OWN_DATA);
    },
    run: (world, root, options) => world.deploy(root, "1.1.0", options),
    end: "1.1.0",
    kept: OWN_DATA,
  },
  {
    name: "rollback",
    before: async (world, root) => {
      for (const version of ["1.0.0", "1.1.0"]) await world.deploy(root, version);
      await plant(root, OWN_DATA);
    },
    run: (world, root, options) => world.rollback(root, options),
    end: "1.0.0",
    kept: OWN_DATA,
  },
  {
    name: "adoption",
    before: (_world, root) => plant(root, BY_HAND),
    run: (world, root, options) => world.deploy(root, "1.0.0", options),
    end: "1.0.0",
    kept: { "plugins/shop/data/own.db": "the host's own rows" },
  },
  {
    name: "collection",
    before: async (world, root) => {
      for (const version of ["1.0.0", "1.1.0"]) await world.deploy(root, version);
    },
    run: (world, root, options) => world.deploy(root, "1.2.0", options),
    end: "1.2.0",
    keepReleases: 1,
  },
];

/** Returns the scenarios of a host: each is one run of the agent. */
export function hostScenarios(world: HostWorld): Scenario[] {
  return RUNS.map(({ name, before, run, end, keepReleases = 3, kept = {} }) => {
    let old: Installed = {};
    let changed: Installed = {};
    let id = "";
    /** Results of recoveries: the next deployment is tried once on each. */
    const tried = new Set<string>();
    return {
      name,
      async trace(folder, durability) {
        const root = join(folder, "root");
        await mkdir(root);
        await before?.(world, root);
        old = await installed(root);
        const disk = await traced(root, async (hook) => {
          const result = await run(world, root, { durability, keepReleases });
          if (result.status !== "success") throw new Error(`${name}: ${result.error?.message}`);
          hook.absorb();
          hook.disk.mark("done");
          id = result.deployment_id;
        });
        changed = await installed(root);
        return disk;
      },
      async check(root, told) {
        const facts = new HostFacts(root, world.target, { old, changed, kept, done: told.has("done") });
        await facts.expectWhole("before the next run");
        await world.recover(root);
        await facts.expectWhole("after the next run");
        await facts.expectNothingLeft();
        await facts.expectReports(id);
        const shape = `${told.size} ${await facts.shape()}`;
        if (tried.has(shape)) return facts.faults;
        tried.add(shape);
        const again = await world.deploy(root, end, { keepReleases });
        if (again.status !== "success") facts.faults.push(`the next deployment fails: ${again.error?.code}`);
        if (told.has("done") && again.outcome !== "unchanged")
          facts.faults.push("the next deployment finds it damaged");
        await facts.expectChanged(end);
        await facts.expectNothingLeft();
        return facts.faults;
      },
    };
  });
}

/** Traces a run below a folder; afterwards the trace and the folder must agree. */
async function traced(root: string, run: (hook: Hook) => Promise<void>): Promise<Disk> {
  using hook = await Hook.start(root);
  await run(hook);
  const untraced = differences(hook.disk, root);
  if (untraced.length > 0) throw new Error(`not traced: ${untraced.join(", ")}`);
  return hook.disk;
}
