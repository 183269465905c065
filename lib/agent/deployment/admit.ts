import { deploymentError } from "../../contract/errors.ts";
import { isDowngrade } from "../../contract/versions.ts";
import { damageOf } from "../../releases/contents.ts";
import { heldBack, readQuarantine } from "../../releases/quarantine.ts";
import type { Release } from "../../releases/release.ts";
import type { Evidence } from "../policy/evidence.ts";
import type { Resolved, Source } from "../sources/source.ts";
import { requirePolicy } from "./policy.ts";
import type { DeployOptions, Run } from "./run.ts";

/** Version that may be deployed, and the release that it will replace. */
export interface Admitted {
  resolved: Resolved;
  running: Release | undefined;
  /** Facts checked by the host's policy; undefined without a policy. */
  evidence: Evidence | undefined;
}

/** Returns the running release if it is this very artifact, intact, and no reinstallation was requested. */
export async function alreadyRuns(
  { options, layout, source, emit }: Run,
  running: Release | undefined,
  { version, identity }: { version: string; identity: string | null },
): Promise<Release | undefined> {
  if (options.reinstall || identity === null || running?.identity !== identity || running.version !== version)
    return undefined;
  const damage = await damageOf(layout, source.target, running);
  if (damage === undefined) return running;
  emit({ event: "warning", message: `The running release is damaged: ${damage}. It is installed anew.` });
  return undefined;
}

/**
 * Rejects a latest version lower than the running one, unless downgrades are allowed.
 *
 * @throws DeploymentError `downgrade_refused`
 */
export function refuseDowngrade(
  { requestedVersion }: Pick<Source, "requestedVersion">,
  { allowDowngrade }: Pick<DeployOptions, "allowDowngrade">,
  running: string,
  version: string,
): void {
  if (requestedVersion !== "latest" || allowDowngrade || !isDowngrade(running, version)) return;
  const message = `The latest version is ${version}, which is lower than the running ${running}.`;
  throw deploymentError("downgrade_refused", message, { hint: "Run it with --allow-downgrade, or name the version." });
}

/**
 * Decides whether a resolved version may be deployed (docs/contract/host.md): a lower `latest` only on request; a
 * version that failed before again, because somebody asked for it; and none against the host's policy.
 *
 * @throws DeploymentError `downgrade_refused`, `policy_refused`
 */
export async function admitVersion(run: Run, resolved: Resolved, running: Release | undefined): Promise<Admitted> {
  const { source, options, layout, emit } = run;
  const { version, identity } = resolved;
  if (running !== undefined) refuseDowngrade(source, options, running.version, version);
  const signers = await source.acceptedSigners?.(layout);
  const before = heldBack(await readQuarantine(layout, source.target), { version, identity, signers });
  if (before !== undefined) {
    const message = `${version} is in quarantine (${before.reason.replace(/\.$/, "")}); trying it again because it was asked for.`;
    emit({ event: "warning", message });
  }
  return { resolved, running, evidence: await requirePolicy(run, resolved) };
}
