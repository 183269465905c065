import { Option } from "clipanion";

/** Options of the two sources of deployments, each made anew for every command that has it. */
export const projectOptions = {
  deploymentCredential: () =>
    Option.String("--deployment-credential", {
      description: "Deployment credential; safer as [SEALIFT_DEPLOYMENT_CREDENTIAL] or --deployment-credential-file",
    }),
  deploymentCredentialFile: () =>
    Option.String("--deployment-credential-file", {
      description: "File with the deployment credential; - is standard input",
    }),
  signerPublicKey: () =>
    Option.String("--signer-public-key", { description: "The publisher's public key: a file, hex or base64" }),
  trustOnFirstUse: () =>
    Option.Boolean("--trust-on-first-use", {
      description: "Trust the signer of the first deployment, and only that one from then on",
    }),
  gitToken: () =>
    Option.Array("--git-token", {
      description:
        "HOST=TOKEN for plugins that the project fetches from a source host; may be repeated [SEALIFT_GIT_TOKEN]",
    }),
};

export const marketplaceOptions = {
  signingSecret: (
    description = "The developer's signing secret; safer as [SEALIFT_SIGNING_SECRET] or --signing-secret-file",
  ) => Option.String("--signing-secret", { description }),
  signingSecretFile: () =>
    Option.String("--signing-secret-file", { description: "File with the signing secret; - is standard input" }),
  installPlan: () => Option.String("--install-plan", { description: "Your install plan for this target (required)" }),
  symlinks: () =>
    Option.String("--symlinks", {
      description: "Symbolic links in the archive: refuse or skip (default: refuse)",
    }),
};
