// Holds: which facts of an action people read (lib/contract/audit/facts.ts)
import t from "tap";
import { shownFacts } from "../../../lib/contract/audit/facts.ts";

t.test("people read the facts that have a value, and signers in hex", (t) => {
  const key = Buffer.alloc(32, 0xab);
  t.strictSame(shownFacts({ version: "1.0.0", reason: null, open: 2, signer: key.toString("base64") }), [
    ["version", "1.0.0"],
    ["open", "2"],
    ["signer", "ab".repeat(32)],
  ]);
  t.end();
});
