import { connection, isByRun } from "./connection.ts";
import * as forms from "./forms.ts";
import { flag, list, path, text, whole } from "./kinds.ts";
import { limits } from "./limits.ts";
import { group, guarded, type Known, type Need, required, requiredWhen } from "./option.ts";
import { packing } from "./packing.ts";
import { identity, KEY_OR_RUN } from "./publishers.ts";
import { secretBytes } from "./secrets.ts";
import { goOn, newSigner } from "./signing.ts";
import { deployed } from "./sources.ts";
import { stage } from "./staging.ts";
import { statements } from "./statements.ts";

/** Options of the commands that build, sign, publish and open artifacts. */

/** Tells whether a hub is needed. The hub of a login does not turn an artifact that is kept into one that is sent. */
const needsHub = ({ dryRun, output, hubUrl }: Known): Need =>
  (dryRun !== true && output === undefined) || (hubUrl !== undefined && "if given");

/** Tells whether anything is sent to a hub: with --output and without --hub-url, the artifact is only built. */
const uploads = ({ dryRun, output, hubUrl }: Known): boolean =>
  dryRun !== true && (output === undefined || hubUrl !== undefined);

/** Tells whether the sizes of deltas are computed, which needs both secrets and a hub; a dry run works without them. */
const sizes = ({ dryRun, hubUrl, oidc }: Known) =>
  dryRun === true && hubUrl !== undefined && oidc !== true && "if given";

const { include, appPackages, withDependencies, platform, ...treeLimits } = packing;
const folders = { include, appPackages, withDependencies, platform };

/** Options of `deploy-publish`. */
export const publish = {
  ...group("Publication", {
    projectId: deployed.projectId,
    version: required(
      text({ metavar: "VERSION", help: "Semantic version of this publication", form: forms.semverLabel }),
    ),
    signingKey: requiredWhen(
      secretBytes({ metavar: "KEY", help: "The signer's private key (`sealift signer create`)", fileOnly: true }),
      (known) => known["dryRun"] !== true || sizes(known),
      "Make a key pair with `sealift signer create --out keys`.",
    ),
    stage,
    projectName: text({ metavar: "NAME", help: "Its name for people", defaultText: "the hub's" }),
    level: whole({ help: "zstd level, 1 to 19", default: 3, min: 1, max: 19 }),
    ...folders,
    deltas: whole({ help: "Deltas to make from the versions that hosts run; 0 for none", default: 4, min: 0, max: 8 }),
    deltaFrom: list(
      { metavar: "VERSION", help: "Make deltas from these versions only; may be repeated" },
      (version) => version,
    ),
    yes: goOn,
    newSigner,
    output: path({ flag: "--out", alias: "--output", help: "Keep the artifact here, its keys and deltas beside it" }),
    dryRun: flag({ help: "List what would be packed and sent, and how large it is" }),
  }),
  ...statements,
  ...identity,
  ...treeLimits,
  ...connection,
  hubUrl: requiredWhen(connection.hubUrl, needsHub),
  apiKey: requiredWhen(connection.apiKey, (known) => !isByRun(known) && (uploads(known) || sizes(known)), KEY_OR_RUN),
};

/** Options of `signer create`. */
export const keyPair = group("Keys", {
  out: required(path({ alias: "--output", help: "Folder for signer.key and signer.pub" })),
  withSecret: flag({ name: "with-signing-secret", help: "Write signing.secret, too, which plugins' archives need" }),
});

const asksHub = ({ publishedAs }: Known): boolean => publishedAs !== undefined;

/** Options of `artifact open`. */
export const opening = {
  ...group("Artifact", {
    signerPublicKey: required(
      path({ metavar: "KEY", help: "The publisher's public key: a file, hex or base64", orText: true }),
      "Give the publisher's signer.pub: without it nothing can be verified.",
    ),
    signature: text({ metavar: "BASE64", help: "The signature", defaultText: "from FILE.json" }),
    dekFile: guarded(path({ help: "File with the key in base64 or hex", defaultText: "from FILE.json" })),
    base: path({ metavar: "FOLDER", help: "Complete a delta from this tree of its base version" }),
    out: path({ alias: "--output", help: "Leave the tree in this new folder" }),
    publishedAs: text({ metavar: "TARGET", help: "Ask the hub who published and approved it" }),
  }),
  ...limits,
  ...connection,
  hubUrl: requiredWhen(connection.hubUrl, asksHub),
  apiKey: requiredWhen(connection.apiKey, asksHub),
};
