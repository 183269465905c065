import { Command, Option } from "clipanion";
import type { SignerTrust } from "../lib/agent/trust.ts";
import { usageError } from "../lib/contract/errors.ts";
import type { Settings } from "../lib/support/settings.ts";
import { AgentCommand, agentOptions } from "./agent-options.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "./hub-options.ts";
import { showDeployment } from "./output/deployment.ts";

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
  deploymentCredential = Option.String("--deployment-credential", {
    description: "Deployment credential; safer as [SEALIFT_DEPLOYMENT_CREDENTIAL] or --deployment-credential-file",
  });
  deploymentCredentialFile = Option.String("--deployment-credential-file", {
    description: "File with the deployment credential; - is standard input",
  });
  signerPublicKey = Option.String("--signer-public-key", {
    description: "The publisher's public key: a file, hex or base64",
  });
  signingSecret = Option.String("--signing-secret", {
    description:
      "For plugins that the project fetches from the marketplace: their developer's signing secret [SEALIFT_SIGNING_SECRET]",
  });
  signingSecretFile = Option.String("--signing-secret-file", {
    description: "File with that secret; - is standard input",
  });
  gitToken = Option.Array("--git-token", {
    description:
      "HOST=TOKEN for plugins that the project fetches from a source host; may be repeated [SEALIFT_GIT_TOKEN]",
  });
  trustOnFirstUse = Option.Boolean("--trust-on-first-use", {
    description: "Trust the signer of the first deployment, and only that one from then on",
  });

  override async run(settings: Settings): Promise<number> {
    const [{ deploy }, { projectSource }, { projectId }] = await Promise.all([
      import("../lib/agent/deploy.ts"),
      import("../lib/agent/project-source.ts"),
      import("../lib/contract/identifiers.ts"),
    ]);
    const id = projectId.safeParse(settings.required("project-id"));
    if (!id.success) throw usageError("usage", `--project-id ${id.error.issues[0]!.message}.`);
    const source = projectSource({
      ...hubConnection(settings, DEPLOY_TIMEOUT_MS),
      projectId: id.data,
      version: settings.text("version") ?? "latest",
      deploymentCredential: settings.requiredSecret("deployment-credential"),
      trust: await signerTrust(settings),
      sources: sourceSecrets(settings),
    });
    return showDeployment(deploy, source, await agentOptions(settings), this.surroundings());
  }
}

/** @throws UsageError `usage` */
function sourceSecrets(settings: Settings): { signingSecret?: string; gitTokens: Map<string, string> } {
  const signingSecret = settings.secret("signing-secret");
  const gitTokens = new Map<string, string>();
  for (const given of settings.list("git-token")) {
    const [, host, token] = /^([A-Za-z0-9.-]+(?::\d+)?)=(.+)$/.exec(given) ?? [];
    if (host === undefined || token === undefined)
      throw usageError("usage", "--git-token takes HOST=TOKEN, such as git.example.org=….");
    gitTokens.set(host.toLowerCase(), token);
  }
  return { gitTokens, ...(signingSecret !== undefined && { signingSecret }) };
}

async function signerTrust(settings: Settings): Promise<SignerTrust> {
  const given = settings.text("signer-public-key");
  const onFirstUse = settings.flag("trust-on-first-use");
  if (given !== undefined && onFirstUse)
    throw usageError("usage", "--signer-public-key and --trust-on-first-use contradict each other.");
  if (onFirstUse) return { onFirstUse: true };
  if (given === undefined) {
    throw usageError("usage", "--signer-public-key is missing.", {
      hint: "Give the publisher's signer.pub, or --trust-on-first-use to trust whoever signed the first deployment.",
    });
  }
  const { publicKeyFrom } = await import("./signer-option.ts");
  return { pinned: await publicKeyFrom(given) };
}
