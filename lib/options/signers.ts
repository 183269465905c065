import { connection } from "./connection.ts";
import { flag, path, text } from "./kinds.ts";
import { group } from "./option.ts";

/** Options of the commands about a project's signers. */

const named = { metavar: "NAME", help: "What people call the key" };
export const signerAddition = { ...group("Signer", { name: text(named) }), ...connection };

const why = { help: "Why, for the audit log" };
export const signerEnd = {
  ...group("Signer", { reason: text(why), dryRun: flag({ help: "Only tell what would end" }) }),
  ...connection,
};

export const signerRotation = {
  ...group("Signer", {
    out: path({ help: "Begin: folder for the new signer.key and signer.pub" }),
    finish: path({ metavar: "KEY", help: "End: the new public key, as a file or hex", orText: true }),
    dryRun: flag({ help: "With --finish: only tell what would end" }),
  }),
  ...connection,
};
