import { Command } from "clipanion";
import { deployProject } from "../../lib/options/kits.ts";
import { deployed, dryRun } from "../../lib/options/sources.ts";
import { withOptions } from "../shell/base.ts";
import { showDeployment } from "../shell/output/deployment.ts";

const { projectId, version } = deployed;

export class DeployProject extends withOptions({ projectId, version, ...dryRun, ...deployProject }) {
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

      With \`--from FOLDER\` the version comes on a stick that \`sealift kit make\` has made for this host, and no
      hub is asked: it needs \`--host-key-file\` in place of the hub's URL, API key and credential.
    `,
    examples: [
      [
        "Deploy the latest version",
        "SEALIFT_API_KEY=… SEALIFT_DEPLOYMENT_CREDENTIAL=… $0 project deploy --hub-url https://hub.example --project-id prj_… --signer-public-key signer.pub",
      ],
      [
        "From a stick",
        "$0 project deploy --from /media/stick --host-key-file host.key --project-id prj_… --signer-public-key signer.pub",
      ],
      ["Look first", "$0 project deploy --config host.yaml --dry-run"],
    ],
  });

  override async run(): Promise<number> {
    const { projectId, version, from } = this.options;
    const target =
      from === undefined
        ? await (await import("./deploy-targets.ts")).projectTarget(this.options, projectId, this.layers)
        : await (await import("./kit-target.ts")).projectKitTarget(this.options, projectId, this.layers);
    if (this.options.dryRun) {
      const { showDeploymentPreview } = await import("../shell/output/preview.ts");
      return showDeploymentPreview(target.source(version), target.options, this.surroundings());
    }
    return showDeployment(target.source(version), target.options, this.surroundings());
  }
}
