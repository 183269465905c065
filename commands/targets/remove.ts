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
      signer and reports stay for another deployment; \`--purge\` removes them, too. Runs of jobs end. It is refused
      while somebody runs a command in the place of an application (\`app run\`). A watch that has the target in its
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
    const [{ previewRemoval, removeTarget }, { deploySentence }, { watcherOf }] = await Promise.all([
      import("../../lib/agent/deployment/remove.ts"),
      import("../../lib/agent/base/sentences.ts"),
      import("../../lib/agent/watch/target-locks.ts"),
    ]);
    const { WatchMemory } = await import("../../lib/agent/watch/state.ts");
    const { state: watched } = await new WatchMemory({ layout }, target!).read();
    const removed = { ...targetOfName(target!), purge };
    if (dryRun) {
      const preview = await previewRemoval(layout, removed, supervisor);
      for (const unit of preview.units) this.note(`would stop ${unit ?? "the project"}`);
      for (const path of preview.paths) this.note(`would remove ${path}`);
      if (watched !== undefined) this.warn(watchWarning(this.target, undefined));
      return this.done({ target: this.target, ...preview, purged: false, dry_run: true });
    }
    const watcher = await watcherOf(layout, target!, { allowForeignRoot });
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
    if (watched !== undefined) this.warn(watchWarning(this.target, watcher));
    const what = version === null ? "nothing ran" : `${version} ran`;
    this.note(
      `Removed ${this.target}: ${what}, ${counted(releases, "release")} gone${purge ? ", data and reports, too" : ""}.`,
    );
    return this.done({ target: this.target, version, releases, purged: purge, dry_run: false });
  }
}

/** Warns of a watch of the target. @param watcher process that watches the target */
const watchWarning = (target: string, watcher: string | undefined): string =>
  watcher === undefined
    ? `A watch followed ${target} here, and would install it again: take it out of its targets before you start it.`
    : `The watch that runs here (${watcher}) follows ${target}, and installs it again at its next check: take it out of its targets.`;
