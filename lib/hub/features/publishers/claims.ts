import type { ClaimDifference } from "../../../contract/publishers/publishers.ts";
import type { VerifiedClaims } from "./issuers.ts";

/** Part of a publisher that a token is compared with. */
interface Expectation {
  audience: string;
  claims: Readonly<Record<string, string>>;
}

/** Returns a claim as text; null for none, and for lists and objects. */
function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : null;
}

/** Returns the claims in which a token differs from a publisher; none if it matches. */
export function differencesOf({ audience, claims }: Expectation, token: VerifiedClaims): ClaimDifference[] {
  const audiences = [token.aud ?? []].flat();
  const ofAudience = audiences.includes(audience)
    ? []
    : [{ claim: "aud", wanted: audience, found: audiences.length === 0 ? null : audiences.join(" ") }];
  const others = Object.entries(claims).flatMap(([claim, wanted]) => {
    const found = Object.hasOwn(token, claim) ? textOf(token[claim]) : null;
    return found === wanted ? [] : [{ claim, wanted, found }];
  });
  return [...ofAudience, ...others];
}

/** Most characters of a claim that a message shows. */
const SHOWN_CHARACTERS = 200;

const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_CHARACTERS));

/** Describes the claims that differ, with both values. */
export const differenceText = (differences: readonly ClaimDifference[]): string =>
  differences
    .map(({ claim, wanted, found }) => `${claim} is ${found === null ? "missing" : shown(found)}, not ${shown(wanted)}`)
    .join("; ");
