import type { AuditRecord } from "../surfaces/keys.ts";

/** Returns the facts of an audit entry as people read them: those with a value, and signers in hex as everywhere. */
export const shownFacts = (facts: AuditRecord["facts"]): [name: string, text: string][] =>
  Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [
      name,
      name === "signer" ? Buffer.from(String(value), "base64").toString("hex") : String(value),
    ]);
