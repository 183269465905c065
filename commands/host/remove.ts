import { Command, Option } from "clipanion";
import { targetOfName } from "../../lib/contract/target.ts";
import { removal } from "../../lib/options/inspection.ts";
import { counted } from "../../lib/support/counted.ts";
import { lastDeployment } from "../deploying/last-deployment.ts";
import { supervisorFrom } from "../deploying/supervision.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

export class Remove extends withOptions(removal) {
  static override paths = [["remove"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Take a target off this host",
    details: `
      Stops its units, removes its plugins and extensions and every kept release. Data, environment files, the trusted
      signer and reports stay for another deployment; \`--purge\` removes them, too. A watch that has the target in its
      \`watch.yaml\` would install it again: take it out there first.
    `,
    examples: [
      ["Remove a plugin", "$0 remove plugin:tide-table --project-root /srv/app --supervisor systemd"],
      ["With its data and reports", "$0 remove plugin:tide-table --purge"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });

  protected override keptLayers() {
    return lastDeployment(this.target, this.layers);
  }

  override async run(): Promise<number> {
    const { purge, dryRun, projectRoot, hostId, lockWaitMs, deadlineMs, allowForeignRoot } = this.options;
    const layout = projectRootAt(projectRoot);
    const [target] = await targetsAt(layout, [this.target]);
    const supervisor = await supervisorFrom(this.options);
    const [{ previewRemoval, removeTarget }, { deploySentence }] = await Promise.all([
      import("../../lib/agent/deployment/remove.ts"),
      import("../../lib/agent/ground/sentences.ts"),
    ]);
    const removed = { ...targetOfName(target!), purge };
    if (dryRun) {
      const preview = await previewRemoval(layout, removed, supervisor);
      for (const unit of preview.units) this.note(`would stop ${unit ?? "the project"}`);
      for (const path of preview.paths) this.note(`would remove ${path}`);
      return this.done({ target: this.target, ...preview, purged: false, dry_run: true });
    }
    const { WatchMemory } = await import("../../lib/agent/watch/state.ts");
    const { state: watch } = await new WatchMemory({ layout }, target!).read();
    using interrupt = interruptible();
    const { version, releases } = await removeTarget(
      removed,
      { projectRoot, hostId, lockWaitMs, deadlineMs, allowForeignRoot, supervisor, signal: interrupt.signal },
      (event) => {
        const sentence = deploySentence(event);
        if (this.json) this.print.event(event);
        else if (sentence !== undefined) this.note(sentence);
      },
    );
    if (watch !== undefined)
      this.warn(`A watch that runs here follows ${this.target}, and installs it again: take it out of its targets.`);
    const what = version === null ? "nothing ran" : `${version} ran`;
    this.note(
      `Removed ${this.target}: ${what}, ${counted(releases, "release")} gone${purge ? ", data and reports, too" : ""}.`,
    );
    return this.done({ target: this.target, version, releases, purged: purge, dry_run: false });
  }
}
