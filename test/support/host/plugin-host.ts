/** A host that deploys the plugin {@link SLUG} from a real hub, or from what stands in front of it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployResult } from "../../../lib/agent/deployment/run.ts";
import { marketplaceSource, type MarketplaceSourceOptions } from "../../../lib/agent/sources/marketplace.ts";
import { DEVELOPER_SECRET } from "../hub/marketplace-hub.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { SLUG } from "./marketplace-host.ts";

type Given = Pick<MarketplaceSourceOptions, "hubUrl" | "apiKey"> & Partial<MarketplaceSourceOptions>;

export interface PluginHost {
  /** The project root. */
  root: string;
  /** The operator's plan. */
  installPlan: string;
  deploy(version: string): Promise<DeployResult>;
}

export async function pluginHost(t: Test, given: Given): Promise<PluginHost> {
  const folder = temporaryFolder(t);
  const installPlan = join(folder, "install.yaml");
  const root = join(folder, "root");
  await writeFile(
    installPlan,
    `format_version: "1"\nproject_id: ${SLUG}\nversion: 1.0.0\nsteps:\n  - {id: install, action: install_plugin, plugin: ${SLUG}}\n`,
  );
  return {
    ...{ root, installPlan },
    deploy(version) {
      const source = marketplaceSource({
        ...{ timeoutMs: 10_000, kind: "plugin", slug: SLUG, version, signingSecret: DEVELOPER_SECRET },
        ...{ installPlan, symlinks: "refuse" },
        ...given,
      });
      const supervisor = { name: "none" } as const;
      const options = {
        ...DEPLOY_DEFAULTS,
        projectRoot: root,
        hostId: "host",
        supervisor,
        durability: "none",
      } as const;
      return deploy(source, options, () => undefined);
    },
  };
}
