import { Command, Option } from "clipanion";
import type { DeployResult } from "../lib/agent/deploy.ts";
import type { SignerTrust } from "../lib/agent/trust.ts";
import { EXIT } from "../lib/contract/codes.ts";
import { usageError } from "../lib/contract/errors.ts";
import type { Settings } from "../lib/support/settings.ts";
import { AgentCommand, agentOptions } from "./agent-options.ts";
import { interruptible } from "./base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "./hub-options.ts";

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
  trustOnFirstUse = Option.Boolean("--trust-on-first-use", {
    description: "Trust the signer of the first deployment, and only that one from then on",
  });

  override async run(settings: Settings): Promise<number> {
    const [{ deploy, exitCodeOf }, { projectSource }, { projectId }, { deployLines }] = await Promise.all([
      import("../lib/agent/deploy.ts"),
      import("../lib/agent/project-source.ts"),
      import("../lib/contract/identifiers.ts"),
      import("./output/deploy-lines.ts"),
    ]);
    const id = projectId.safeParse(settings.required("project-id"));
    if (!id.success) throw usageError("usage", `--project-id ${id.error.issues[0]!.message}.`);
    const source = projectSource({
      ...hubConnection(settings, DEPLOY_TIMEOUT_MS),
      projectId: id.data,
      version: settings.text("version") ?? "latest",
      deploymentCredential: settings.requiredSecret("deployment-credential"),
      trust: await signerTrust(settings),
    });
    const options = await agentOptions(settings);
    using interrupt = interruptible();
    const lines = deployLines(this.context.stderr);
    const emit = this.json ? this.output.event : lines.emit;
    const result = await deploy(source, { ...options, signal: interrupt.signal }, emit);
    lines.close();
    return this.conclude(result, exitCodeOf(result));
  }

  protected conclude(result: DeployResult, exitCode: number): number {
    const { error, ...facts } = result;
    if (error !== undefined) return this.fail(error, facts);
    if (this.json) return this.done({ ...facts });
    this.output.line(
      result.outcome === "unchanged"
        ? `unchanged: ${result.version} is already running`
        : `deployed ${result.version}${result.previous_version === null ? "" : ` over ${result.previous_version}`}`,
    );
    return exitCode === EXIT.done ? EXIT.done : exitCode;
  }
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
