import { Command, Option } from "clipanion";
import type { DeployResult } from "../../lib/agent/deployment/run.ts";
import { parseTarget } from "../../lib/contract/target.ts";
import { rollback } from "../../lib/options/inspection.ts";
import { supervisorFrom } from "../deploying/deploy-options.ts";
import { withOptions } from "../shell/base.ts";
import { showRun } from "../shell/output/deployment.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

export class Rollback extends withOptions(rollback) {
  static override paths = [["rollback"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Go back to a release that is kept on this host",
    details: `
      One switch to a kept release, with restarts, health checks and a report, and without any hub. When the kept
      release does not work, what ran
      before is brought back. A watch, also one that runs, leaves the version alone that was left, until there is a
      newer one, or until
      \`sealift watch resume\` or \`retry\`. \`sealift releases\` lists what is kept.
    `,
    examples: [
      ["To the release before", "$0 rollback plugin:tide-table --project-root /srv/app"],
      ["To a version", "$0 rollback project:prj_… --to 1.4.0 --supervisor systemd"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });

  override async run(): Promise<number> {
    const { projectRoot, hostId, keepReports, lockWaitMs, deadlineMs, allowForeignRoot, to } = this.options;
    const { kind, slug } = parseTarget(this.target);
    const layout = projectRootAt(projectRoot);
    await targetsAt(layout, [this.target]);
    const supervisor = await supervisorFrom(this.options);
    // Nothing new comes, so nothing old has to go.
    const kept = { keepReports, keepReleases: Infinity };
    const options = { projectRoot, hostId, supervisor, lockWaitMs, deadlineMs, allowForeignRoot, ...kept };
    const { rollback } = await import("../../lib/agent/deployment/rollback.ts");
    return showRun(
      (signal, emit) => rollback({ kind, slug, to }, { ...options, signal }, emit),
      sentence,
      this.surroundings(),
    );
  }
}

const sentence = ({ outcome, version, previous_version: left }: DeployResult): string =>
  outcome === "unchanged" ? `unchanged: ${version} is already running` : `went back to ${version} from ${left}`;
