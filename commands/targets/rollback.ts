import { Command, Option } from "clipanion";
import type { Reporter } from "../../lib/agent/base/reporter.ts";
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
      Goes to the newest kept release of an earlier version without asking a hub: its plan's steps run, whatever else
      differs is restarted, and health checks end it. If it does not work, what ran before is brought back.

      The supervisor and the host's name are those of the target's last deployment; \`sealift status\` shows them, and
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
    const [target] = await targetsAt(projectRootAt(this.options.projectRoot), [this.target]);
    const of = targetOfName(target!);
    const kept = { ...of, to: this.options.to, reporter: await reporterOf(of, this.options) };
    const { projectRoot, hostId, keepReports, lockWaitMs, deadlineMs, allowForeignRoot } = this.options;
    const options = {
      ...{ projectRoot, hostId, keepReports, lockWaitMs, deadlineMs, allowForeignRoot },
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

/** Returns a reporter to the hub, where one is known with a key. */
async function reporterOf(
  { kind, slug }: Target,
  { hubUrl, apiKey, timeoutMs, hostId }: Values<typeof rollback>,
): Promise<Reporter | undefined> {
  if (hubUrl === undefined || apiKey === undefined) return undefined;
  const given = { hubUrl, apiKey, timeoutMs };
  if (kind === "project") {
    const { projectReporter } = await import("../../lib/agent/sources/project.ts");
    return projectReporter({ ...hubConnection(given, DEPLOY_TIMEOUT_MS), hostId, projectId: slug });
  }
  const { marketplaceReporter } = await import("../../lib/agent/sources/marketplace.ts");
  return marketplaceReporter({ ...hubConnection(given, MARKETPLACE_TIMEOUT_MS), hostId, kind, slug });
}

const sentence = ({ outcome, version, previous_version: left }: DeployResult): string =>
  outcome === "unchanged" ? `unchanged: ${version} is already running` : `went back to ${version} from ${left}`;
