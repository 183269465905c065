import { Command, Option } from "clipanion";
import { deployMarketplace } from "../../lib/options/kits.ts";
import { deployed, dryRun } from "../../lib/options/sources.ts";
import { withOptions } from "../shell/base.ts";
import { showDeployment } from "../shell/output/deployment.ts";

const { kind, version } = deployed;

export class DeployMarketplace extends withOptions({ kind, version, ...dryRun, ...deployMarketplace }) {
  static override paths = [["marketplace", "deploy"], ["deploy-marketplace"], ["deploy", "marketplace"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Deploy a plugin or service from a hub's marketplace to this host",
    details: `
      Fetches the ZIP while its HMAC runs, verifies it with the developer's signing secret, checks the whole archive
      before the first byte is unpacked, carries out your own install plan, switches at once, checks health, and goes
      back when anything fails. An install plan inside the archive is ignored.

      Everyone who knows the signing secret can also make its signature. With \`--signer-public-key\`, or
      \`--trust-on-first-use\`, the version must carry the author's Ed25519 signature, too, which only the author can
      make.

      With \`--from FOLDER\` the version comes on a stick that \`sealift kit make\` has made for this host, and no
      hub is asked: it needs \`--host-key-file\` in place of the hub's URL and API key.
    `,
    examples: [
      [
        "Deploy a plugin",
        "SEALIFT_API_KEY=… SEALIFT_SIGNING_SECRET=… $0 marketplace deploy tide-table --hub-url https://hub.example --install-plan install.yaml",
      ],
      [
        "Deploy a service",
        "$0 marketplace deploy harbour-clock --kind service --version 1.2.0 --install-plan clock.yaml",
      ],
      [
        "Only what its author has signed",
        "$0 marketplace deploy tide-table --install-plan install.yaml --signer-public-key signer.pub",
      ],
      [
        "From a stick",
        "SEALIFT_SIGNING_SECRET=… $0 marketplace deploy tide-table --from /media/stick --host-key-file host.key --install-plan install.yaml",
      ],
      ["Look first", "$0 marketplace deploy tide-table --install-plan install.yaml --dry-run"],
    ],
  });

  slug = Option.String({ name: "SLUG", required: true });

  override async run(): Promise<number> {
    const { kind, version, from } = this.options;
    const target =
      from === undefined
        ? await (await import("./deploy-targets.ts")).marketplaceTarget(this.options, kind, this.slug, this.layers)
        : await (await import("./kit-target.ts")).marketplaceKitTarget(this.options, kind, this.slug, this.layers);
    if (this.options.dryRun) {
      const { showDeploymentPreview } = await import("../shell/output/preview.ts");
      return showDeploymentPreview(target.source(version), target.options, this.surroundings());
    }
    return showDeployment(target.source(version), target.options, this.surroundings());
  }
}
