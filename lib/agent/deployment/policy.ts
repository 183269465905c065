import { hash } from "node:crypto";
import { deploymentError } from "../../contract/errors.ts";
import { hasRules } from "../../contract/files/policy.ts";
import type { StatementRecord } from "../../contract/statements/statements.ts";
import { type Target, targetOfName, targetText } from "../../contract/target.ts";
import { forgetHeld, type Held, readHeld, writeHeld } from "../../releases/holds.ts";
import type { Evidence } from "../policy/evidence.ts";
import type { BroughtStatements, Resolved, Source } from "../sources/source.ts";
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
  before: Pick<Held<"policy">, "at" | "again"> | undefined,
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
  run: Run<Deployed & Pick<Source, "connection" | "statements" | "trust">>,
  { version, identity }: Pick<Resolved, "version" | "identity">,
): Promise<Evidence | undefined> {
  const { source, options, layout, emit, signal } = run;
  const { policy } = options;
  if (policy === undefined) return undefined;
  const { checkPolicy, PolicyRefusal } = await import("../policy/require-policy.ts");
  const target = targetOfName(source.target);
  const brought = source.statements?.();
  const now = Math.max(Date.now(), brought?.notBefore ?? 0);
  const evidence = await evidenceOf(run, brought, { target, version, signal });
  const found =
    typeof evidence === "string"
      ? new PolicyRefusal(evidence, undefined)
      : await checkPolicy(policy, version, evidence, now);
  if (!(found instanceof PolicyRefusal)) {
    emit({ event: "verify.ok", check: "policy" });
    if (run.isTrial !== true) await forgetHeld(layout, source.target, "policy");
    return found;
  }
  const { message, from } = found;
  const before = await readHeld(layout, source.target, "policy");
  const isSame = before?.version === version && before.identity === identity;
  const repeated = isSame && before.message === message;
  emit({ event: "policy.refused", version, message, repeated });
  const again = lookAgainAt(now, from, isSame ? before : undefined);
  const ofKit = brought !== undefined && { kit_made_at: brought.kitMadeAt };
  const held = { version, identity, message, again, at: new Date(now).toISOString(), ...ofKit };
  if (run.isTrial !== true) await writeHeld(layout, source.target, "policy", held);
  throw policyError(message, { target: targetText(target), version, isByKit: brought !== undefined });
}

/** Returns the evidence for the rules, of the kit that brought the version or of its hub; a text says why not. */
async function evidenceOf(
  { source: { connection, trust }, options: { policy } }: Run<Deployed & Pick<Source, "connection" | "trust">>,
  brought: BroughtStatements | undefined,
  { target, version, signal }: { target: Target; version: string; signal: AbortSignal },
): Promise<Evidence | string | undefined> {
  if (brought !== undefined) {
    const { answer, provenance, hubKey } = brought;
    const { unknownHub } = await import("../policy/hub-keys.ts");
    const unknown = unknownHub(policy!, { version, hubKey, hasPinnedSigner: trust !== undefined });
    if (unknown !== undefined) return unknown;
    if (answer === null || answer.version !== version) return undefined;
    return { ...answer, target, read: (statement) => broughtStatement(statement, provenance) };
  }
  if (!hasRules(policy!)) return undefined;
  if (connection === undefined) throw deploymentError("internal", "A source without a hub meets no policy.");
  const { fetchEvidence } = await import("../policy/evidence.ts");
  return fetchEvidence(target, version, { ...connection, signal });
}

/** Yields the bytes of a statement that came with the version, as far as they are those that its record names. */
async function* broughtStatement(
  { kind, sha256 }: StatementRecord,
  provenance: Buffer | undefined,
): AsyncGenerator<Buffer> {
  if (kind !== "provenance" || provenance === undefined) return;
  if (hash("sha256", provenance, "hex") === sha256) yield await Promise.resolve(provenance);
}

/** Version that a policy refuses. */
interface Refused {
  target: string;
  version: string;
  /** Whether it came by a kit, where no hub can be asked. */
  isByKit: boolean;
}

/** Says what to do about a version that a policy refuses. */
export const policyHint = ({ target, version, isByKit }: Refused): string =>
  isByKit
    ? "An age comes by itself. What else is missing at the hub, such as an approval, counts with a kit that is made afterwards."
    : `\`sealift policy check ${target} ${version} --policy FILE\` looks at every rule.`;

/** Returns the error of a version that a policy refuses. */
export const policyError = (message: string, refused: Refused) =>
  deploymentError("policy_refused", message, { hint: `Nothing was installed. ${policyHint(refused)}` });
