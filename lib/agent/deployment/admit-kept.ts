import { join } from "node:path";
import type { HubConnection } from "../../client/hub-connection.ts";
import { asSealiftError, deploymentError, SealiftError } from "../../contract/errors.ts";
import { hasRules } from "../../contract/files/policy.ts";
import { targetOfName, targetText } from "../../contract/target.ts";
import { readDeployed } from "../../releases/deployed.ts";
import { isAdopted, type Release } from "../../releases/release.ts";
import type { SignerTrust } from "../sources/trust.ts";
import { requirePolicy } from "./policy.ts";
import { checkRights } from "./rights.ts";
import type { Deployed, Run } from "./run.ts";

/** Admission of a kept release, before a host goes back to it: by the rules for one that arrives. */

/** Circumstances in which a kept release is admitted. */
export interface KeptAdmission {
  /** Signers that this host accepts now; undefined where no signature is required. */
  trust?: SignerTrust | undefined;
  /** Hub that has the facts that the host's policy asks for; undefined where none is known. */
  connection?: HubConnection | undefined;
  /** Goes back to a release although its signer does not count any more. */
  allowUntrustedSigner?: boolean | undefined;
  /** Goes back to a release without asking the host's policy. */
  allowUnmetPolicy?: boolean | undefined;
}

type KeptRun = Run<Deployed & KeptAdmission>;

/** Returns the refusal of a kept release for its signer; undefined where its signer counts. */
export async function signerRefusal(
  { layout, source: { target, trust } }: Pick<KeptRun, "layout" | "source">,
  release: Release,
): Promise<SealiftError | undefined> {
  if (trust === undefined) return undefined;
  // Elliptic curve code, which most deployments of plugins do not need.
  const { keptSignerFault } = await import("../sources/kept-signer.ts");
  const fault = await keptSignerFault(layout, target, trust, release);
  return fault && refusal(fault, target, release, "--allow-untrusted-signer");
}

/**
 * Requires of a kept release what a deployment requires (docs/contract/host.md#rollback): a signer that counts now, the
 * host's policy, and no rights beyond those that were accepted. The rights of a release that has run here were.
 *
 * @throws ArtifactError `signer_untrusted`, `trust_changed`; DeploymentError `policy_refused`, `rights_held`
 */
export async function admitKept(run: KeptRun, previous: Release | undefined, release: Release): Promise<void> {
  await admitSigner(run, release);
  await admitByPolicy(run, release);
  await admitRights(run, previous, release);
}

async function admitSigner(run: KeptRun, release: Release): Promise<void> {
  const { emit, source } = run;
  const refused = await signerRefusal(run, release);
  if (refused === undefined) {
    if (source.trust === undefined && source.kind === "project") emit({ event: "warning", message: UNKNOWN_SIGNERS });
    return;
  }
  if (source.allowUntrustedSigner !== true) throw refused;
  emit({ event: "warning", message: `${refused.message} It was gone back to by --allow-untrusted-signer.` });
}

const UNKNOWN_SIGNERS =
  "This host does not know which signers it accepts: the kept release's is not compared. Give --signer-public-key or --root.";

async function admitByPolicy(run: KeptRun, release: Release): Promise<void> {
  const { options, source, emit } = run;
  const { policy } = options;
  if (policy === undefined || !hasRules(policy)) return;
  const { version, identity } = release;
  if (source.allowUnmetPolicy === true) {
    const message = `${policy.file} was not asked about ${version}: --allow-unmet-policy was given.`;
    return emit({ event: "warning", message });
  }
  try {
    if (isAdopted(release)) throw unmet(`${policy.file} asks for facts that folders installed by hand do not have.`);
    if (source.connection === undefined)
      throw unmet(`${policy.file} asks for facts of ${version}, and no hub is known that has them.`);
    await requirePolicy(run, { version, identity });
  } catch (thrown) {
    throw refusal(asSealiftError(thrown), source.target, release, "--allow-unmet-policy");
  }
}

const unmet = (message: string): SealiftError => deploymentError("policy_refused", message);

async function admitRights(run: KeptRun, previous: Release | undefined, release: Release): Promise<void> {
  const { layout, source, options } = run;
  const { target } = source;
  const runs = (await readDeployed(layout, target))?.ran ?? [];
  const acceptRights = options.acceptRights === true || runs.some((ran) => ran.release === release.name);
  const folder = layout.release(target, release.name);
  const arriving = release.items.map((item) => ({ ...item, folder: join(folder, item.section, item.id) }));
  const asking = { ...run, options: { ...options, acceptRights } };
  const tree = source.kind === "project" ? folder : undefined;
  await checkRights(asking, release, previous, { arriving, tree }).catch((thrown: unknown) => {
    throw refusal(asSealiftError(thrown), target, release, "--accept-rights");
  });
}

/** Returns the refusal of a kept release, with the flag by which a person decides otherwise. */
function refusal(
  { kind, code, message, faults, retryAfterMs }: SealiftError,
  target: Deployed["target"],
  { name }: Release,
  flag: string,
): SealiftError {
  const typed = `\`sealift rollback ${targetText(targetOfName(target))} --to ${name} ${flag}\``;
  return new SealiftError(kind, code, message, {
    ...(faults !== undefined && { faults }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    hint: `Nothing was switched. Name another kept release with --to; ${typed} goes back to this one all the same.`,
  });
}
