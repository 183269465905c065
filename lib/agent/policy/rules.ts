import { POLICY_RULES, type PolicyRule } from "../../contract/files/policy.ts";
import { STATEMENT_BYTES } from "../../contract/statements/statements.ts";
import { endorsedStatement, type Evidence } from "./evidence.ts";
import type { Policy } from "./policy-file.ts";
import type { VerifiedProvenance } from "./verify-provenance.ts";

/** Whether a rule holds for a version, and why. */
export interface Verdict {
  rule: PolicyRule;
  holds: boolean;
  /** Reason, in words that follow "because". */
  why: string;
  /** Time from which the rule will hold by itself, ISO 8601, if known. */
  from?: string;
}

const yes = (rule: PolicyRule, why: string): Verdict => ({ rule, holds: true, why });
const no = (rule: PolicyRule, why: string): Verdict => ({ rule, holds: false, why });

/**
 * Checks the rules of a policy one by one, those without a cost first.
 *
 * @param now milliseconds since 1970
 */
export async function* verdicts(policy: Policy, evidence: Evidence, now: number): AsyncGenerator<Verdict> {
  let provenance: Promise<VerifiedProvenance | string> | undefined;
  const proven = () => (provenance ??= provenanceOf(policy, evidence));
  for (const rule of POLICY_RULES) {
    if (policy[rule] === undefined || policy[rule] === false) continue;
    switch (rule) {
      case "approved":
        yield approved(evidence);
        break;
      case "min_age":
        yield oldEnough(policy.min_age!, evidence, now);
        break;
      case "sbom":
        yield billed(evidence);
        break;
      default:
        yield signedBy(rule, policy[rule], await proven());
    }
  }
}

function approved({ approved_at: at }: Evidence): Verdict {
  if (at === null) return no("approved", "nobody has approved it at the hub");
  return yes("approved", `it was approved at ${at}`);
}

function oldEnough(minAgeMs: number, evidence: Evidence, now: number): Verdict {
  const published = Date.parse(evidence.created_at);
  const from = new Date(published + minAgeMs).toISOString();
  if (published + minAgeMs <= now) return yes("min_age", `it was published at ${evidence.created_at}`);
  const urgent = evidence.signer_public_key === null ? undefined : endorsedStatement(evidence, "urgent");
  if (urgent !== undefined && !("missing" in urgent)) return yes("min_age", "its signer says that it is urgent");
  return { ...no("min_age", `it was published at ${evidence.created_at}, and is old enough from ${from} on`), from };
}

function billed(evidence: Evidence): Verdict {
  const found = endorsedStatement(evidence, "sbom");
  return "missing" in found ? no("sbom", found.missing) : yes("sbom", `it has one of ${found.predicate_type}`);
}

function signedBy(rule: "issuer" | "repository", wanted: string, provenance: VerifiedProvenance | string): Verdict {
  if (typeof provenance === "string") return no(rule, provenance);
  const found = provenance.signer[rule];
  if (found === wanted) return yes(rule, `its provenance is signed by ${provenance.signer.subject}, of ${found}`);
  return no(rule, `its provenance is of ${found ?? "nobody that its certificate names"}, not of ${wanted}`);
}

/** Fetches and verifies the provenance of a version. @returns the reason, where no statement counts */
async function provenanceOf({ trustedRoot }: Policy, evidence: Evidence): Promise<VerifiedProvenance | string> {
  const found = endorsedStatement(evidence, "provenance");
  if ("missing" in found) return found.missing;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of evidence.read(found)) {
    bytes += chunk.length;
    if (bytes > STATEMENT_BYTES.provenance) return "its provenance is too large";
    chunks.push(Buffer.from(chunk));
  }
  const { verifyProvenance } = await import("./verify-provenance.ts");
  let verified: VerifiedProvenance;
  try {
    verified = await verifyProvenance(Buffer.concat(chunks), trustedRoot);
  } catch (error) {
    if ((error as { code?: string }).code === "config_invalid") throw error;
    return `its provenance does not verify (${(error as Error).message})`;
  }
  const { artifact_sha256, content_sha256 } = evidence;
  if (content_sha256 !== null && verified.subjects.includes(content_sha256)) return verified;
  if (!verified.subjects.includes(artifact_sha256)) return "its provenance is about other bytes";
  evidence.restsOnArtifact = true;
  return verified;
}
