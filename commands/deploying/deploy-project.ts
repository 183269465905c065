import { Command, Option } from "clipanion";
import type { Settings } from "../../lib/support/settings.ts";
import { showDeployment } from "../shell/output/deployment.ts";
import { AgentCommand } from "./agent-options.ts";
import { marketplaceOptions, projectOptions } from "./source-options.ts";

export class DeployProject extends AgentCommand {
  static override paths = [["deploy-project"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Deploy a project from a hub to this host",
    details: `
      Fetches, verifies, decrypts and unpacks in one pass, carries out the project's install plan, switches at once, checks health, and
      goes back to the previous release when anything fails. A report of every run is kept under \`.sealift/reports\`.

      The signer's public key is required: it is what makes a hub that you do not own safe to use. \`--trust-on-first-use\` remembers the
      key of the first deployment instead, and refuses another one later.
    `,
    examples: [
      [
        "Deploy the latest version",
        "SEALIFT_API_KEY=… SEALIFT_DEPLOYMENT_CREDENTIAL=… $0 deploy-project --hub-url https://hub.example --project-id prj_… --signer-public-key signer.pub",
      ],
    ],
  });

  projectId = Option.String("--project-id", { description: "The project [SEALIFT_PROJECT_ID]" });
  version = Option.String("--version", { description: "Version to deploy (default: latest)" });
  deploymentCredential = projectOptions.deploymentCredential();
  deploymentCredentialFile = projectOptions.deploymentCredentialFile();
  signerPublicKey = projectOptions.signerPublicKey();
  trustOnFirstUse = projectOptions.trustOnFirstUse();
  signingSecret = marketplaceOptions.signingSecret(
    "For plugins that the project fetches from the marketplace: their developer's signing secret [SEALIFT_SIGNING_SECRET]",
  );
  signingSecretFile = marketplaceOptions.signingSecretFile();
  gitToken = projectOptions.gitToken();

  override async run(settings: Settings): Promise<number> {
    const { projectTarget } = await import("./deploy-targets.ts");
    const target = await projectTarget(settings, settings.required("project-id"));
    return showDeployment(target.source(settings.text("version") ?? "latest"), target.options, this.surroundings());
  }
}
