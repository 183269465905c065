import { resolve } from "node:path";
import type { KitChoice } from "../../lib/agent/sources/kits/host-kit.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { projectId } from "../../lib/contract/identifiers.ts";
import type { MarketplaceKind } from "../../lib/contract/surfaces/paths.ts";
import type { deployProject } from "../../lib/options/kits.ts";
import type { Layer } from "../../lib/options/layers.ts";
import type { Values } from "../../lib/options/option.ts";
import {
  checkedSlug,
  checkedVersion,
  deployOptions,
  type DeployTarget,
  type MarketplaceValues,
  type ProjectValues,
  signerTrust,
} from "./deploy-targets.ts";

/** Target whose versions come on a stick. */
interface KitTarget extends Pick<DeployTarget, "source" | "options"> {
  kit: KitChoice;
}

/** Options of a kit in place of a hub. */
type KitValues = Pick<Values<typeof deployProject>, "from" | "hostKey" | "allowEnded">;

async function kitChoice({ from, hostKey, hubUrl, allowEnded }: KitValues & { hubUrl?: string }): Promise<KitChoice> {
  const { hostKeyIn } = await import("../../lib/agent/joining/host-key-file.ts");
  const key = hostKeyIn(hostKey!, "--host-key-file");
  return { folder: resolve(from!), key, hubUrl, allowsEnded: allowEnded };
}

/** Returns a project whose versions come on a stick. @throws UsageError, before anything is read of it */
export async function projectKitTarget(
  options: ProjectValues & KitValues,
  named: string,
  layers: readonly Layer[],
): Promise<KitTarget> {
  if (!projectId.safeParse(named).success)
    throw usageError(
      "usage",
      `--project-id ${named}: with --from it is the id of a project, which no hub is asked for.`,
      {
        hint: "`sealift kit show` says which one the kit is for.",
      },
    );
  const { projectKitSource } = await import("../../lib/agent/sources/kits/source.ts");
  const choice = await kitChoice(options);
  const trust = (await signerTrust(options))!;
  const shared = { projectId: named, trust, hostId: options.hostId, labels: Object.fromEntries(options.labels) };
  return {
    kit: choice,
    options: await deployOptions(options, layers),
    source: (version) => projectKitSource({ ...shared, version: checkedVersion(version) }, choice),
  };
}

/** Returns a plugin or service whose versions come on a stick. @throws UsageError, before anything is read of it */
export async function marketplaceKitTarget(
  options: MarketplaceValues & KitValues,
  kind: MarketplaceKind,
  slug: string,
  layers: readonly Layer[],
): Promise<KitTarget> {
  const { marketplaceKitSource } = await import("../../lib/agent/sources/kits/source.ts");
  const choice = await kitChoice(options);
  const { signingSecret, installPlan, symlinks, allowVersionMismatch, hostId, labels } = options;
  const trust = await signerTrust(options);
  const fetched = { signingSecret, trust, installPlan, symlinks, allowVersionMismatch };
  const host = { hostId, labels: Object.fromEntries(labels) };
  const shared = { kind, slug: checkedSlug(slug), ...fetched, ...host };
  return {
    kit: choice,
    options: await deployOptions(options, layers),
    source: (version) => marketplaceKitSource({ ...shared, version: checkedVersion(version) }, choice),
  };
}
