import { Command, Option } from "clipanion";
import { usageError } from "../lib/contract/errors.ts";
import type { Settings } from "../lib/support/settings.ts";
import { AgentCommand, agentOptions } from "./agent-options.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "./hub-options.ts";
import { showDeployment } from "./output/deployment.ts";

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
  signingSecret = Option.String("--signing-secret", {
    description: "The developer's signing secret; safer as [SEALIFT_SIGNING_SECRET] or --signing-secret-file",
  });
  signingSecretFile = Option.String("--signing-secret-file", {
    description: "File with the signing secret; - is standard input",
  });
  installPlan = Option.String("--install-plan", { description: "Your install plan for this target (required)" });
  symlinks = Option.String("--symlinks", {
    description: "Symbolic links in the archive: refuse or skip (default: refuse)",
  });

  override async run(settings: Settings): Promise<number> {
    const [{ deploy }, { marketplaceSource }, { slug, versionLabel }] = await Promise.all([
      import("../lib/agent/deploy.ts"),
      import("../lib/agent/marketplace-source.ts"),
      import("../lib/contract/identifiers.ts"),
    ]);
    const parsed = slug.safeParse(this.slug);
    if (!parsed.success) throw usageError("usage", `SLUG ${parsed.error.issues[0]!.message}.`);
    const version = settings.text("version") ?? "latest";
    if (version !== "latest" && !versionLabel.safeParse(version).success)
      throw usageError("usage", `--version ${JSON.stringify(version)} is no version label.`);
    const source = marketplaceSource({
      ...hubConnection(settings, MARKETPLACE_TIMEOUT_MS),
      kind: settings.choice("kind", ["plugin", "service"], "plugin"),
      slug: parsed.data,
      version,
      signingSecret: settings.requiredSecret("signing-secret"),
      installPlan: settings.required("install-plan"),
      symlinks: settings.choice("symlinks", ["refuse", "skip"], "refuse"),
    });
    return showDeployment(deploy, source, await agentOptions(settings), this.surroundings());
  }
}
