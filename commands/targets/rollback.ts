import { Command, Option } from "clipanion";
import type { KeptTarget } from "../../lib/agent/deployment/rollback.ts";
import type { DeployResult } from "../../lib/agent/deployment/run.ts";
import { type Target, targetOfName } from "../../lib/contract/target.ts";
import { rollback } from "../../lib/options/inspection.ts";
import type { Values } from "../../lib/options/option.ts";
import { lastDeployment, settingsOf } from "../deploying/last-deployment.ts";
import { operatorCommands, supervisorFrom } from "../deploying/supervision.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { showRun } from "../shell/output/deployment.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

export class Rollback extends withOptions(rollback) {
  static override paths = [["rollback"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Go back to a release that is kept on this host",
    details: `
      Goes to the newest kept release of an earlier version: its plan's steps run, whatever else differs is restarted,
      and health checks end it. If it does not work, what ran before is brought back.

      A release must meet what a deployment must: a signer that counts now, grants for its applications, and the host's
      policy, for which the hub is asked. Nothing else needs a hub. A refusal names the flag by which a person decides
      otherwise, and the report says that it was given.

      The supervisor, the signers, the policy and the host's name are those of the target's last deployment; \`sealift status\` shows them, and
      flags override them. So is the hub that is told, with the file of its key; without them a warning says that it is
      not told, and the next deployment does it. A watch leaves the version alone that was left, until there is a newer
      one, or until \`sealift watch resume\` or \`retry\`. \`sealift releases\` lists what is kept.
    `,
    examples: [
      ["To the version before", "$0 rollback plugin:tide-table --project-root /srv/app"],
      ["Look first", "$0 rollback project:prj_… --to 1.4.0 --dry-run"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });

  protected override keptLayers() {
    return lastDeployment(this.target, this.layers);
  }

  override async run(): Promise<number> {
    const layout = projectRootAt(this.options.projectRoot);
    const [target] = await targetsAt(layout, [this.target]);
    const of = targetOfName(target!);
    const { policyOf, signerTrust } = await import("../deploying/deploy-targets.ts");
    const { trustOnDisk } = await import("../../lib/agent/sources/kept-signer.ts");
    const { to, allowUntrustedSigner, allowUnmetPolicy } = this.options;
    const kept = {
      ...{ ...of, to, allowUntrustedSigner, allowUnmetPolicy, ...(await hubOf(of, this.options)) },
      trust: (await signerTrust({ ...this.options, rootSources: [] })) ?? (await trustOnDisk(layout, target!)),
    };
    const { projectRoot, hostId, keepReports, logInReports } = this.options;
    const { lockWaitMs, deadlineMs, allowForeignRoot, acceptRights } = this.options;
    const options = {
      ...{ projectRoot, hostId, keepReports, logInReports, lockWaitMs, deadlineMs, allowForeignRoot, acceptRights },
      policy: await policyOf(this.options),
      supervisor: await supervisorFrom(this.options),
      settings: settingsOf(this.options, this.layers),
      ...(await operatorCommands(this.options)),
    };
    if (this.options.dryRun) {
      const [{ previewRollback }, { showPreview }] = await Promise.all([
        import("../../lib/agent/deployment/preview.ts"),
        import("../shell/output/preview.ts"),
      ]);
      const perform = (signal: AbortSignal, emit: Parameters<typeof previewRollback>[2]) =>
        previewRollback(kept, { ...options, signal }, emit);
      const words: [string, string] = ["would go back to", "from"];
      return showPreview({ perform, supervisor: options.supervisor.name, words }, this.surroundings());
    }
    const { rollback } = await import("../../lib/agent/deployment/rollback.ts");
    return showRun((signal, emit) => rollback(kept, { ...options, signal }, emit), sentence, this.surroundings());
  }
}

/** Returns the hub of a target and a reporter to it, where one is known with a key. */
async function hubOf(
  { kind, slug }: Target,
  { hubUrl, apiKey, timeoutMs, hostId }: Values<typeof rollback>,
): Promise<Pick<KeptTarget, "reporter" | "connection">> {
  if (hubUrl === undefined || apiKey === undefined) return {};
  const given = { hubUrl, apiKey, timeoutMs };
  if (kind === "project") {
    const { projectReporter } = await import("../../lib/agent/sources/project.ts");
    const connection = hubConnection(given, DEPLOY_TIMEOUT_MS);
    return { connection, reporter: projectReporter({ ...connection, hostId, projectId: slug }) };
  }
  const { marketplaceReporter } = await import("../../lib/agent/sources/marketplace-report.ts");
  const connection = hubConnection(given, MARKETPLACE_TIMEOUT_MS);
  return { connection, reporter: marketplaceReporter({ ...connection, hostId, kind, slug }) };
}

const sentence = ({ outcome, version, previous_version: left }: DeployResult): string =>
  outcome === "unchanged" ? `unchanged: ${version} is already running` : `went back to ${version} from ${left}`;
