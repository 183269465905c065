import { Command } from "clipanion";
import { agent } from "../../lib/options/agent.ts";
import { deployed, dryRun, projectSource } from "../../lib/options/sources.ts";
import { withOptions } from "../shell/base.ts";
import { showDeployment } from "../shell/output/deployment.ts";

const { projectId, version } = deployed;

export class DeployProject extends withOptions({ projectId, version, ...projectSource, ...dryRun, ...agent }) {
  static override paths = [["project", "deploy"], ["deploy-project"], ["deploy", "project"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Deploy a project from a hub to this host",
    details: `
      Fetches, verifies, decrypts and unpacks in one pass, carries out the project's install plan, switches at once,
      checks health, and goes back to the previous release when anything fails. A report of every run is kept under
      \`.sealift/reports\`.

      The signer's public key is required: it is what makes a hub that you do not own safe to use.
      \`--trust-on-first-use\` remembers the key of the first deployment instead, and refuses another one later.
    `,
    examples: [
      [
        "Deploy the latest version",
        "SEALIFT_API_KEY=… SEALIFT_DEPLOYMENT_CREDENTIAL=… $0 project deploy --hub-url https://hub.example --project-id prj_… --signer-public-key signer.pub",
      ],
      ["Look first", "$0 project deploy --config host.yaml --dry-run"],
    ],
  });

  override async run(): Promise<number> {
    const { projectTarget } = await import("./deploy-targets.ts");
    const { projectId, version } = this.options;
    const target = await projectTarget(this.options, projectId, this.layers);
    if (this.options.dryRun) {
      const { showDeploymentPreview } = await import("../shell/output/preview.ts");
      return showDeploymentPreview(target.source(version), target.options, this.surroundings());
    }
    return showDeployment(target.source(version), target.options, this.surroundings());
  }
}
