import { Command, Option } from "clipanion";
import type { Settings } from "../../lib/support/settings.ts";
import { showDeployment } from "../shell/output/deployment.ts";
import { AgentCommand } from "./agent-options.ts";
import { marketplaceOptions } from "./source-options.ts";

export class DeployMarketplace extends AgentCommand {
  static override paths = [["deploy-marketplace"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Deploy a plugin or service from a hub's marketplace to this host",
    details: `
      Fetches the ZIP while its HMAC runs, verifies it with the developer's signing secret, checks the whole archive before the first byte is
      unpacked, carries out your own install plan, switches at once, checks health, and goes back when anything fails. An install plan inside the
      archive is ignored.
    `,
    examples: [
      [
        "Deploy a plugin",
        "SEALIFT_API_KEY=… SEALIFT_SIGNING_SECRET=… $0 deploy-marketplace tide-table --hub-url https://hub.example --install-plan install.yaml",
      ],
      [
        "Deploy a service",
        "$0 deploy-marketplace harbour-clock --kind service --version 1.2.0 --install-plan clock.yaml",
      ],
    ],
  });

  slug = Option.String({ name: "SLUG", required: true });
  kind = Option.String("--kind", { description: "plugin or service (default: plugin)" });
  version = Option.String("--version", { description: "Version to deploy (default: latest)" });
  signingSecret = marketplaceOptions.signingSecret();
  signingSecretFile = marketplaceOptions.signingSecretFile();
  installPlan = marketplaceOptions.installPlan();
  symlinks = marketplaceOptions.symlinks();

  override async run(settings: Settings): Promise<number> {
    const { marketplaceTarget } = await import("./deploy-targets.ts");
    const target = await marketplaceTarget(
      settings,
      settings.choice("kind", ["plugin", "service"], "plugin"),
      this.slug,
    );
    return showDeployment(target.source(settings.text("version") ?? "latest"), target.options, this.surroundings());
  }
}
