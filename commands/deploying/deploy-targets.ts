import { resolve } from "node:path";
import type { DeployOptions } from "../../lib/agent/deployment/run.ts";
import type { Source } from "../../lib/agent/sources/source.ts";
import type { SignerTrust } from "../../lib/agent/sources/trust.ts";
import { limitsOf } from "../../lib/artifact/limits.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { RateLimit } from "../../lib/client/rate-limit.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { slug as slugForm, versionLabel } from "../../lib/contract/identifiers.ts";
import type { MarketplaceKind } from "../../lib/contract/surfaces/paths.ts";
import type { agent } from "../../lib/options/agent.ts";
import type { Layer } from "../../lib/options/layers.ts";
import type { Values } from "../../lib/options/option.ts";
import type { targetOptions } from "../../lib/options/watch.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { settingsOf } from "./last-deployment.ts";
import { operatorCommands, supervisorFrom } from "./supervision.ts";

/** Target as the options describe it: the origin of its versions, and how they are deployed here. */
export interface DeployTarget {
  connection: HubConnection;
  /** Returns the source of a version. @throws UsageError `usage` for anything but a version label or `latest` */
  source: (version: string) => Source;
  options: DeployOptions;
}

type OfWatch =
  "intervalMs" | "hints" | "fetchAhead" | "operators" | "hostKey" | "hostCard" | "kitSource" | "allowEnded";
/** Bound of downloads that a watch's targets share. */
interface SharedBound {
  rateLimit?: RateLimit | undefined;
}

/** Options of a deployment of a project, without those of its watch. */
export type ProjectValues = Omit<Values<typeof targetOptions.project>, OfWatch> & SharedBound;
/** Options of a deployment of a plugin or service. */
export type MarketplaceValues = Omit<Values<typeof targetOptions.marketplace>, OfWatch> & SharedBound;

/**
 * Returns a project of surface B, by its id or name. @throws UsageError; where a name is looked up, the errors of
 * requests
 */
export async function projectTarget(
  options: ProjectValues,
  named: string,
  layers: readonly Layer[],
): Promise<DeployTarget> {
  const [{ projectSource }, { projectNamed }] = await Promise.all([
    import("../../lib/agent/sources/project.ts"),
    import("../../lib/client/lookup.ts"),
  ]);
  const connection = { ...hubConnection(options, DEPLOY_TIMEOUT_MS), ...hostOf(options) };
  const { signingSecret, deploymentCredential } = options;
  const shared = {
    ...connection,
    projectId: await projectNamed(connection, named),
    deploymentCredential,
    delta: options.delta,
    trust: (await signerTrust(options))!,
    sources: { gitTokens: new Map(options.gitToken), ...(signingSecret !== undefined && { signingSecret }) },
  };
  return {
    connection,
    options: await deployOptions(options, layers),
    source: (version) => projectSource({ ...shared, version: checkedVersion(version) }),
  };
}

/** Returns a plugin or service of surface A. @throws UsageError, before any request */
export async function marketplaceTarget(
  options: MarketplaceValues,
  kind: MarketplaceKind,
  slug: string,
  layers: readonly Layer[],
): Promise<DeployTarget> {
  const { marketplaceSource } = await import("../../lib/agent/sources/marketplace.ts");
  const checked = checkedSlug(slug);
  const connection = { ...hubConnection(options, MARKETPLACE_TIMEOUT_MS), ...hostOf(options) };
  const { signingSecret, installPlan, symlinks, allowVersionMismatch } = options;
  const trust = await signerTrust(options);
  const fetched = { signingSecret, trust, installPlan, symlinks, allowVersionMismatch };
  const shared = { ...connection, kind, slug: checked, ...fetched };
  return {
    connection,
    options: await deployOptions(options, layers),
    source: (version) => marketplaceSource({ ...shared, version: checkedVersion(version) }),
  };
}

/**
 * Converts the agent's options to those of a deployment.
 *
 * @param layers where they were given
 * @throws UsageError when a file that they name is not valid
 */
export async function deployOptions(options: Values<typeof agent>, layers: readonly Layer[]): Promise<DeployOptions> {
  const { projectRoot, hostId, allowDowngrade, acceptRights, allowForeignRoot, templateEnv, pluginSecretKey } = options;
  const { keepReleases, keepReports, lockWaitMs, deadlineMs, durability, logInReports } = options;
  return {
    ...{ projectRoot, hostId, allowDowngrade, acceptRights, allowForeignRoot, templateEnv, pluginSecretKey },
    ...{ keepReleases, keepReports, lockWaitMs, deadlineMs, durability, logInReports },
    supervisor: await supervisorFrom(options),
    settings: settingsOf(options, layers),
    ...(await operatorCommands(options)),
    policy: await policyOf(options),
    limits: limitsOf(options),
  };
}

/** Reads the rules that a version must meet; undefined without any. @throws UsageError `config_invalid` */
export async function policyOf({ policy }: { policy?: string | undefined }): Promise<DeployOptions["policy"]> {
  if (policy === undefined) return undefined;
  return (await import("../../lib/agent/policy/policy-file.ts")).readPolicy(policy);
}

/** Returns the name and labels that this host sends to a hub. */
const hostOf = ({ hostId, labels }: Pick<ProjectValues, "hostId" | "labels">) => ({
  ...{ hostId, labels: Object.fromEntries(labels) },
});

/** Requires a slug. @throws UsageError `usage` */
export function checkedSlug(slug: string): string {
  const parsed = slugForm.safeParse(slug);
  if (parsed.success) return parsed.data;
  throw usageError("usage", `SLUG ${parsed.error.issues[0]!.message}.`);
}

/** Requires a version label or `latest`. @throws UsageError `usage` */
export function checkedVersion(version: string): string {
  if (version === "latest" || versionLabel.safeParse(version).success) return version;
  throw usageError("usage", `--version ${JSON.stringify(version)} is not a version label.`);
}

type TrustValues = Pick<MarketplaceValues, "signerPublicKey" | "trustOnFirstUse" | "root" | "rootSources">;

/** Returns the root that is followed. @throws UsageError `usage` for options that contradict each other */
async function rootTrust(
  root: string,
  { signerPublicKey, trustOnFirstUse, rootSources: sources }: TrustValues,
): Promise<SignerTrust> {
  if (trustOnFirstUse) throw usageError("usage", "--root and --trust-on-first-use contradict each other.");
  if (root !== "follow" && signerPublicKey !== undefined)
    throw usageError("usage", "--root FILE and --signer-public-key contradict each other: the root names the signers.");
  if (root !== "follow") return { follow: { file: resolve(root), pinned: [], sources } };
  if (signerPublicKey === undefined)
    throw usageError("usage", "--root follow needs the signer that has countersigned the root.", {
      hint: "Give --signer-public-key, or the root itself with --root FILE.",
    });
  const { publicKeysFrom } = await import("../shell/signer.ts");
  return { follow: { pinned: await publicKeysFrom(signerPublicKey), sources } };
}

/**
 * Returns the trusted signers; undefined where no signature is required. @throws UsageError `usage`, `key_file_invalid`
 */
export async function signerTrust(options: TrustValues): Promise<SignerTrust | undefined> {
  const { signerPublicKey, trustOnFirstUse, root, rootSources } = options;
  if (root !== undefined) return rootTrust(root, options);
  if (rootSources.length > 0) throw usageError("usage", "--root-source goes with --root.");
  if (signerPublicKey !== undefined && trustOnFirstUse)
    throw usageError("usage", "--signer-public-key and --trust-on-first-use contradict each other.");
  if (trustOnFirstUse) return { onFirstUse: true };
  if (signerPublicKey === undefined) return undefined;
  const { publicKeysFrom } = await import("../shell/signer.ts");
  return { pinned: await publicKeysFrom(signerPublicKey) };
}
