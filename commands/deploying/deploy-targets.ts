import type { DeployOptions } from "../../lib/agent/deployment/deploy.ts";
import type { Source } from "../../lib/agent/sources/source.ts";
import type { SignerTrust } from "../../lib/agent/sources/trust.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { projectId, slug as slugForm, versionLabel } from "../../lib/contract/identifiers.ts";
import type { TargetKind } from "../../lib/contract/surfaces/paths.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection, MARKETPLACE_TIMEOUT_MS } from "../hub/hub-options.ts";
import { agentOptions } from "./agent-options.ts";

/** What the settings say of one target: where its versions come from, and how they are deployed here. */
export interface DeployTarget {
  connection: ReturnType<typeof hubConnection>;
  /** @throws UsageError `usage` when it is no version label and not `latest` */
  source: (version: string) => Source;
  options: DeployOptions;
}

/** A project of surface B. @throws UsageError, before anything is requested */
export async function projectTarget(settings: Settings, id: string): Promise<DeployTarget> {
  const { projectSource } = await import("../../lib/agent/sources/project.ts");
  const parsed = projectId.safeParse(id);
  if (!parsed.success) throw usageError("usage", `--project-id ${parsed.error.issues[0]!.message}.`);
  const connection = hubConnection(settings, DEPLOY_TIMEOUT_MS);
  const shared = {
    ...connection,
    projectId: parsed.data,
    deploymentCredential: settings.requiredSecret("deployment-credential"),
    trust: await signerTrust(settings),
    sources: sourceSecrets(settings),
  };
  return {
    connection,
    options: await agentOptions(settings),
    source: (version) => projectSource({ ...shared, version: checkedVersion(version) }),
  };
}

/** A plugin or service of surface A. @throws UsageError, before anything is requested */
export async function marketplaceTarget(settings: Settings, kind: TargetKind, slug: string): Promise<DeployTarget> {
  const { marketplaceSource } = await import("../../lib/agent/sources/marketplace.ts");
  const parsed = slugForm.safeParse(slug);
  if (!parsed.success) throw usageError("usage", `SLUG ${parsed.error.issues[0]!.message}.`);
  const connection = hubConnection(settings, MARKETPLACE_TIMEOUT_MS);
  const shared = {
    ...connection,
    kind,
    slug: parsed.data,
    signingSecret: settings.requiredSecret("signing-secret"),
    installPlan: settings.required("install-plan"),
    symlinks: settings.choice("symlinks", ["refuse", "skip"], "refuse"),
  };
  return {
    connection,
    options: await agentOptions(settings),
    source: (version) => marketplaceSource({ ...shared, version: checkedVersion(version) }),
  };
}

function checkedVersion(version: string): string {
  if (version === "latest" || versionLabel.safeParse(version).success) return version;
  throw usageError("usage", `--version ${JSON.stringify(version)} is no version label.`);
}

/** @throws UsageError `usage` */
function sourceSecrets(settings: Settings): { signingSecret?: string; gitTokens: Map<string, string> } {
  const signingSecret = settings.secret("signing-secret");
  const gitTokens = new Map<string, string>();
  for (const given of settings.list("git-token")) {
    const [, host, token] = /^([A-Za-z0-9.-]+(?::\d+)?)=(.+)$/.exec(given) ?? [];
    if (host === undefined || token === undefined)
      throw usageError("usage", "--git-token takes HOST=TOKEN, such as git.example.org=….");
    gitTokens.set(host.toLowerCase(), token);
  }
  return { gitTokens, ...(signingSecret !== undefined && { signingSecret }) };
}

async function signerTrust(settings: Settings): Promise<SignerTrust> {
  const given = settings.text("signer-public-key");
  const onFirstUse = settings.flag("trust-on-first-use");
  if (given !== undefined && onFirstUse)
    throw usageError("usage", "--signer-public-key and --trust-on-first-use contradict each other.");
  if (onFirstUse) return { onFirstUse: true };
  if (given === undefined) {
    throw usageError("usage", "--signer-public-key is missing.", {
      hint: "Give the publisher's signer.pub, or --trust-on-first-use to trust whoever signed the first deployment.",
    });
  }
  const { publicKeyFrom } = await import("../shell/signer-option.ts");
  return { pinned: await publicKeyFrom(given) };
}
