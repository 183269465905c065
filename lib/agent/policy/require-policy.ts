import { hasRules } from "../../contract/files/policy.ts";
import { type Evidence, noEvidence } from "./evidence.ts";
import type { Policy } from "./policy-file.ts";
import { verdicts } from "./rules.ts";

/** Refusal of a version by a rule, and when to check again. */
export class PolicyRefusal {
  readonly message: string;
  /** Time from which the rule will hold, ISO 8601; undefined if unknown. */
  readonly from: string | undefined;

  constructor(message: string, from: string | undefined) {
    this.message = message;
    this.from = from;
  }
}

/**
 * Checks whether a version meets a policy.
 *
 * @param evidence facts and statements of the version; undefined where nobody has any
 * @param now milliseconds since 1970
 * @returns the facts that the rules have checked, or the refusal by the first rule that does not hold; a policy without
 *   rules refuses nothing
 * @throws AuthenticationError, ArtifactError, and UsageError `config_invalid` for an unusable root
 */
export async function checkPolicy(
  policy: Policy,
  version: string,
  evidence: Evidence | undefined,
  now: number,
): Promise<Evidence | PolicyRefusal | undefined> {
  if (!hasRules(policy)) return undefined;
  if (evidence === undefined) return new PolicyRefusal(noEvidence(version), undefined);
  for await (const { rule, holds, why, from } of verdicts(policy, evidence, now)) {
    if (!holds) return new PolicyRefusal(`${version} does not meet the rule ${rule} of ${policy.file}: ${why}.`, from);
  }
  return evidence;
}
