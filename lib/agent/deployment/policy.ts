import { deploymentError } from "../../contract/errors.ts";
import { targetOfName, targetText } from "../../contract/target.ts";
import { forgetHeldPolicy, type HeldPolicy, readHeldPolicy, writeHeldPolicy } from "../../releases/held-policy.ts";
import type { Evidence } from "../policy/evidence.ts";
import type { Resolved, Source } from "../sources/source.ts";
import type { Deployed, Run } from "./run.ts";

/**
 * Time after which a watch checks a refused version again, doubled each time, in milliseconds: statements follow a
 * publication within seconds, or never.
 */
const FIRST_AGAIN_MS = 5_000;
/** Longest interval between two checks, in milliseconds. */
const AGAIN_MS = 10 * 60_000;

/**
 * Returns when a watch checks again. @param from when the version will pass, if known @param before time of the
 * previous check
 */
export function lookAgainAt(
  now: number,
  from: string | undefined,
  before: Pick<HeldPolicy, "at" | "again"> | undefined,
): string {
  const waited = before === undefined ? 0 : Date.parse(before.again) - Date.parse(before.at);
  const wait = from === undefined ? Math.max(FIRST_AGAIN_MS, 2 * waited) : Date.parse(from) - now;
  return new Date(now + Math.min(wait, AGAIN_MS)).toISOString();
}

/**
 * Requires that a version meets the policy of this host, if it has one (docs/policy.md). Reports a repeated refusal for
 * the same reason only once.
 *
 * @returns the facts that were checked, with which the bytes must be compared
 * @throws DeploymentError `policy_refused`
 */
export async function requirePolicy(
  run: Run<Deployed & Pick<Source, "connection">>,
  { version, identity }: Pick<Resolved, "version" | "identity">,
): Promise<Evidence | undefined> {
  const { source, options, layout, emit, signal } = run;
  const { policy } = options;
  if (policy === undefined) return undefined;
  if (source.connection === undefined) throw deploymentError("internal", "A source without a hub meets no policy.");
  const { checkPolicy, PolicyRefusal } = await import("../policy/require-policy.ts");
  const target = targetOfName(source.target);
  const now = Date.now();
  const found = await checkPolicy(policy, { target, version, hub: { ...source.connection, signal } }, now);
  if (!(found instanceof PolicyRefusal)) {
    emit({ event: "verify.ok", check: "policy" });
    if (run.isTrial !== true) await forgetHeldPolicy(layout, source.target);
    return found;
  }
  const { message, from } = found;
  const before = await readHeldPolicy(layout, source.target);
  const isSame = before?.version === version && before.identity === identity;
  const repeated = isSame && before.message === message;
  emit({ event: "policy.refused", version, message, repeated });
  const again = lookAgainAt(now, from, isSame ? before : undefined);
  const held = { version, identity, message, again, at: new Date(now).toISOString() };
  if (run.isTrial !== true) await writeHeldPolicy(layout, source.target, held);
  throw policyError(message, { target: targetText(target), version });
}

/** Returns the error of a version that a policy refuses. */
export const policyError = (message: string, { target, version }: { target: string; version: string }) =>
  deploymentError("policy_refused", message, {
    hint: `Nothing was installed. \`sealift policy check ${target} ${version} --policy FILE\` looks at every rule.`,
  });
