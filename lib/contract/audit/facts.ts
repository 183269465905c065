import type { AuditRecord } from "../surfaces/keys.ts";

/** Returns the facts of an audit entry for people: those with a value, with signers in hex as everywhere. */
export const shownFacts = (facts: AuditRecord["facts"]): [name: string, text: string][] =>
  Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [
      name,
      name === "signer" ? Buffer.from(String(value), "base64").toString("hex") : String(value),
    ]);
