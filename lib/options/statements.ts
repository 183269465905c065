import { connection } from "./connection.ts";
import { path, text } from "./kinds.ts";
import { group, guarded, required } from "./option.ts";

/** Options of statements: what publishers add to a version, and how people read it. */

/** Options of publishing commands. */
export const statements = group("Statements", {
  provenance: path({ metavar: "FILE", help: "Sigstore bundle that says where the version was built" }),
  sbom: path({ metavar: "FILE", help: "Its components: CycloneDX or SPDX, in JSON" }),
  urgent: text({ metavar: "REASON", help: "Hosts that wait for a version to age need not" }),
});

/** Options of `version statements`. */
export const statementsOfVersion = {
  ...group("Statements", { download: path({ metavar: "FOLDER", help: "Save them as files of this folder" }) }),
  ...connection,
};

/** Options of `policy check`. */
export const policyCheck = {
  ...group("Policy", {
    policy: required(guarded(path({ metavar: "FILE", help: "policy.yaml: what a version must meet on this host" }))),
  }),
  ...connection,
};
