import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { hostChange } from "../../lib/options/agent.ts";
import { pinning } from "../../lib/options/inspection.ts";
import { withOptions } from "../shell/base.ts";
import { openProjectRootAt, targetsAt } from "./targets.ts";

export class PinTarget extends withOptions(pinning) {
  static override paths = [["pin"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Have a watch keep a target at a version, whatever is latest",
    details: `
      Holds from the watch's next check on, also in a watch that runs: it deploys the pinned version where another one
      runs, and follows no newer one until \`sealift unpin\`. A deployment by hand is not held back.
    `,
    examples: [
      ["At what runs now", "$0 pin plugin:tide-table --reason 'audit until Friday'"],
      ["At another version", "$0 pin plugin:tide-table --version 1.4.0"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });

  override async run(): Promise<number> {
    await using root = await openProjectRootAt(this.options);
    const { layout } = root;
    const [target] = await targetsAt(layout, [this.target]);
    const [{ WatchMemory, writePin }, { currentRelease, listReleases }] = await Promise.all([
      import("../../lib/agent/watch/state.ts"),
      import("../../lib/releases/release.ts"),
    ]);
    const running = (await currentRelease(layout, target!))?.version ?? null;
    const version = this.options.version ?? running;
    if (version === null)
      throw usageError("usage", `Nothing runs as ${this.target}: --version is missing.`, {
        hint: "Name the version to keep.",
      });
    await writePin(layout, target!, { version, reason: this.options.reason ?? null, at: new Date().toISOString() });
    const until = `until \`sealift unpin ${this.target}\``;
    const { latest } = await new WatchMemory({ layout }, target!).read();
    const heardOf = [running, latest?.version, ...(await listReleases(layout, target!)).map((each) => each.version)];
    if (!heardOf.includes(version))
      this.note(`Nothing here has heard of ${version}: check it with \`sealift version list ${this.target}\`.`);
    if (running === version) this.note(`${this.target} stays at ${version} ${until}.`);
    else {
      const runs = running === null ? "Nothing runs" : `${running} runs`;
      this.note(`${this.target} is pinned to ${version} ${until}. ${runs} until a watch has deployed that version.`);
    }
    return this.done({ target: this.target, version, running_version: running });
  }
}

export class UnpinTarget extends withOptions(hostChange) {
  static override paths = [["unpin"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Let a watch follow the latest version of a target again",
    examples: [["Follow it again", "$0 unpin plugin:tide-table --project-root /srv/app"]],
  });

  target = Option.String({ name: "TARGET", required: true });

  override async run(): Promise<number> {
    await using root = await openProjectRootAt(this.options);
    const { layout } = root;
    const [target] = await targetsAt(layout, [this.target]);
    const { readPin, removePin } = await import("../../lib/agent/watch/state.ts");
    const before = await readPin(layout, target!);
    await removePin(layout, target!);
    this.note(before === null ? `${this.target} was not pinned.` : `${this.target} is no longer pinned.`);
    return this.done({ target: this.target, version: before?.version ?? null });
  }
}
