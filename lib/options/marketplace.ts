import { connection, isByRun } from "./connection.ts";
import { signingKeyState } from "./devkeys.ts";
import * as forms from "./forms.ts";
import { fetching, fetchingFrom } from "./import.ts";
import { choice, flag, path, text } from "./kinds.ts";
import { group, optional, required, requiredWhen } from "./option.ts";
import { identity, KEY_OR_RUN } from "./publishers.ts";
import { packing } from "./runtime.ts";
import { secret, secretBytes } from "./secrets.ts";
import { goOn, newSigner } from "./signing.ts";
import { deployed } from "./sources.ts";
import { stage } from "./staging.ts";
import { statements } from "./statements.ts";

/** Options of the commands that publish on a hub's marketplace. */

const signingSecret = secret({ metavar: "SECRET", help: "Your signing secret" });

/** Private key made by `sealift signer create`; hosts that pin its public key accept only what it has signed. */
const signingKey = secretBytes({
  metavar: "KEY",
  help: "Your private key: hosts can pin its public one",
  fileOnly: true,
});

const visibility = choice(["public", "private"], { help: "Who may see it", defaultText: "as it is; public at first" });

/** Options of `marketplace publish`. */
export const marketplacePublication = {
  ...group("Publication", {
    kind: deployed.kind,
    version: required(text({ metavar: "VERSION", help: "Version label of this release", form: forms.versionLabel })),
    archive: path({ metavar: "FILE.zip", help: "The ZIP to publish" }),
    ...fetching,
    repo: requiredWhen(
      text({ metavar: "OWNER/REPO@TAG", help: "Where it comes from", form: forms.repoReference }),
      (known) => known["import"] === true,
    ),
    ...fetchingFrom,
    signingSecret: requiredWhen(signingSecret, ({ archive }) => archive !== undefined),
    signingKey: requiredWhen(signingKey, ({ archive }) => archive !== undefined && "if given"),
    visibility,
    stage,
    yes: goOn,
    newSigner,
  }),
  ...statements,
  ...identity,
  ...connection,
  apiKey: requiredWhen(connection.apiKey, (known) => !isByRun(known), KEY_OR_RUN),
};

/** Options of `plugin publish`. */
export const pluginPublication = {
  ...group("Publication", {
    include: packing.include,
    withDependencies: packing.withDependencies,
    platform: packing.platform,
    signingSecret: required(signingSecret),
    signingKey: optional(signingKey),
    visibility,
    stage,
    yes: goOn,
    newSigner,
  }),
  ...statements,
  ...connection,
};

/** Options of `marketplace sign`. */
export const signing = {
  ...group("Version", {
    kind: deployed.kind,
    signingKey: requiredWhen(
      signingKey,
      ({ dryRun }) => dryRun !== true,
      "Make a key pair with `sealift signer create --out keys`.",
    ),
    sha256: text({ metavar: "DIGEST", help: "Sign only an archive with this SHA-256", form: forms.sha256Hex }),
    dryRun: flag({ help: "Only show the digest and the repository" }),
  }),
  ...connection,
};

/** Options of `marketplace search`. */
export const searching = { ...group("Search", { kind: deployed.kind }), ...connection };

/** Options of `marketplace signing-key`. */
export const registration = {
  ...signingKeyState,
  ...group("Signing key", {
    signingSecret: requiredWhen(signingSecret, ({ status, forget }) => status !== true && forget !== true),
  }),
  ...connection,
};
