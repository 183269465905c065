import { connection, hubIfKnown } from "./connection.ts";
import { flag, path, several, whole } from "./kinds.ts";
import { group, optional, required } from "./option.ts";

/** Options of the commands about trust roots. */

const made = group("Root", {
  threshold: optional(
    whole({ help: "How many root keys must sign the next version", defaultText: "2", min: 1, max: 16 }),
  ),
  yes: flag({ help: "Take a threshold of 1 without asking" }),
});

/** Options of `trust start`. */
export const trustStart = {
  ...group("Root", {
    rootKeys: required(
      several({
        name: "root-key",
        metavar: "KEY",
        help: "Public key that may change the root; repeat it",
        orText: true,
      }),
    ),
    addSigner: several({ metavar: "KEY", help: "Public key that may sign versions; repeatable", orText: true }),
    fromSigner: path({ metavar: "FILE", help: "Private key that hosts pin today: it countersigns" }),
  }),
  ...made,
};

/** Options of `trust change`. */
export const trustChange = {
  ...group("Root", {
    addSigner: trustStart.addSigner,
    removeSigner: several({ metavar: "KEY", help: "Signer to take out: key, name or id; repeatable", orText: true }),
    addRootKey: several({ metavar: "KEY", help: "Public root key to add; repeatable", orText: true }),
    removeRootKey: several({ metavar: "KEY", help: "Root key to take out: key, name or id", orText: true }),
    out: path({ metavar: "FILE", help: "File of the new version", defaultText: "N.root.json beside the old one" }),
    dryRun: flag({ help: "Show the new version, and write nothing" }),
  }),
  ...made,
};

const base = path({ metavar: "FILE", help: "Version before it, whose keys must sign, too" });

/** Options of `trust sign`. */
export const trustSign = group("Root", {
  key: path({ metavar: "FILE", help: "Private key that signs" }),
  signaturesOf: path({ metavar: "FILE", help: "Another copy, whose signatures are taken over" }),
  base,
});

/** Options of `trust show`, which asks a hub about a target only. */
export const trustShow = {
  ...group("Root", {
    base,
    out: path({ metavar: "FILE", help: "File for the newest version, or folder for all of them" }),
  }),
  ...connection,
  hubUrl: hubIfKnown,
  apiKey: optional(connection.apiKey),
};

/** Options of `trust publish`. */
export const trustPublish = connection;
