import type { DeployOptions, DeployResult } from "../../lib/agent/deployment/run.ts";
import { plant } from "../../test/support/host/project-root.ts";
import { pluginFiles } from "./host-versions.ts";
import type { HostWorld } from "./host-world.ts";

/** One run of the agent, and what must be true whatever a power cut leaves of it. */
export interface HostRun {
  name: string;
  /** Prepares the host; all of it is durable. */
  before?: (world: HostWorld, root: string) => Promise<unknown>;
  run: (world: HostWorld, root: string, options: Partial<DeployOptions>) => Promise<DeployResult>;
  /** Version that runs afterwards. */
  end: string;
  /** Version that is deployed next. Default: the one that runs. */
  again?: string;
  /** Code with which the run ends, and the next one, too. Without it, both succeed. */
  refusal?: string;
  /** Releases to keep. */
  keepReleases?: number;
  /** Files that must exist in every state: they belong to the host. */
  kept?: Record<string, string>;
  /** Items whose settings and shipped data the host gets. Default: the plugin `shop`. */
  filled?: readonly string[];
}

const OWN = "the host's own rows";
const OWN_DATA = { ".sealift/data/plugins/shop/own.db": OWN };
const OWN_APP_DATA = { ".sealift/data/apps/web/own.db": OWN };

const GRANTS = { "applications.yaml": "supervisor: systemd\napplications: { web: {}, old: {}, new: {}, newer: {} }\n" };
const FEWER_GRANTS = { "applications.yaml": "supervisor: systemd\napplications: { web: {}, old: {} }\n" };
const WITH_WEB = ["plugins/shop", "apps/web"];

/** Deploys versions before the run, and puts data of the host beside theirs. */
const deployed =
  (versions: readonly string[], own: Record<string, string> = {}, grants: Record<string, string> = {}) =>
  async (world: HostWorld, root: string): Promise<void> => {
    await plant(root, grants);
    for (const version of versions) {
      const { status, error } = await world.deploy(root, version);
      if (status !== "success") throw new Error(`${version}: ${error?.message}`);
    }
    await plant(root, own);
  };

const deploys = (version: string): Pick<HostRun, "run" | "end"> => ({
  run: (world, root, options) => world.deploy(root, version, options),
  end: version,
});

const goesBack = (version: string): Pick<HostRun, "run" | "end"> => ({
  run: (world, root, options) => world.rollback(root, options),
  end: version,
});

export const hostRuns: readonly HostRun[] = [
  { name: "first deployment", ...deploys("1.0.0") },
  { name: "upgrade", before: deployed(["1.0.0"], OWN_DATA), ...deploys("1.1.0"), kept: OWN_DATA },
  { name: "rollback", before: deployed(["1.0.0", "1.1.0"], OWN_DATA), ...goesBack("1.0.0"), kept: OWN_DATA },
  {
    name: "adoption",
    before: (_world, root) => plant(root, { ...pluginFiles("shop", "by hand"), "plugins/shop/data/own.db": OWN }),
    ...deploys("1.0.0"),
    kept: { "plugins/shop/data/own.db": OWN },
  },
  { name: "collection", before: deployed(["1.0.0", "1.1.0"]), ...deploys("1.2.0"), keepReleases: 1 },
  { name: "first application", before: deployed([], {}, GRANTS), ...deploys("2.0.0"), filled: WITH_WEB },
  {
    name: "upgrade of applications",
    before: deployed(["2.0.0"], OWN_APP_DATA, GRANTS),
    ...{ ...deploys("2.1.0"), filled: WITH_WEB, kept: { ...OWN_APP_DATA, ...GRANTS } },
  },
  {
    name: "rollback of applications",
    before: deployed(["2.0.0", "2.1.0"], OWN_APP_DATA, GRANTS),
    ...{ ...goesBack("2.0.0"), filled: WITH_WEB, kept: { ...OWN_APP_DATA, ...GRANTS } },
  },
  {
    name: "adoption of an application",
    before: (_world, root) =>
      plant(root, { ...GRANTS, "apps/web/version": "by hand", "apps/web/var/storage/own.db": OWN }),
    ...{ ...deploys("2.0.0"), filled: WITH_WEB, kept: { ...GRANTS, "apps/web/var/storage/own.db": OWN } },
  },
  {
    name: "application that is not allowed",
    before: deployed(["2.0.0"], OWN_APP_DATA, FEWER_GRANTS),
    ...{ ...deploys("2.1.0"), end: "2.0.0", again: "2.1.0", refusal: "app_not_allowed" },
    ...{ filled: WITH_WEB, kept: { ...OWN_APP_DATA, ...FEWER_GRANTS } },
  },
  {
    name: "collection of applications",
    before: deployed(["2.0.0", "2.1.0"], OWN_APP_DATA, GRANTS),
    ...{ ...deploys("2.2.0"), keepReleases: 1, filled: WITH_WEB, kept: OWN_APP_DATA },
  },
];
