import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import type { TargetName } from "../../lib/contract/target.ts";
import { host } from "../../lib/options/agent.ts";
import type { Layout } from "../../lib/releases/layout.ts";
import type { Release } from "../../lib/releases/release.ts";
import { withOptions } from "../shell/base.ts";
import { DIFFERENCE_FIELDS, differenceLine } from "../shell/output/differences.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

export class Diff extends withOptions(host) {
  static override paths = [["diff"]];
  static override listed = () => DIFFERENCE_FIELDS;
  static override usage = Command.Usage({
    category: "Operating",
    description: "Compare two kept releases of a target",
    details: `
      Names what plugins may do in one release and not in the other, steps of the install plan, and files with their
      sizes. Without B, A is compared with the running release; \`sealift releases\` lists what is kept. Of a version
      that is held because of its rights, they are shown.
    `,
    examples: [
      ["What a rollback would change", "$0 diff plugin:tide-table 1.4.0 --project-root /srv/app"],
      ["Between two versions", "$0 diff project:prj_… 1.4.0 1.5.0"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });
  from = Option.String({ name: "A", required: true });
  to = Option.String({ name: "B", required: false });

  override async run(): Promise<number> {
    const layout = projectRootAt(this.options.projectRoot);
    const [target] = await targetsAt(layout, [this.target]);
    const [{ currentRelease, listReleases }, { keptRelease }, { releaseDifferences }, { sizeText }] = await Promise.all(
      [
        import("../../lib/releases/release.ts"),
        import("../../lib/agent/deployment/rollback.ts"),
        import("../../lib/agent/deployment/release-diff.ts"),
        import("../../lib/support/size-text.ts"),
      ],
    );
    const releases = await listReleases(layout, target!);
    const running = await currentRelease(layout, target!);
    if (this.to === undefined && running === undefined)
      throw usageError("usage", `Nothing of ${this.target} runs here.`, {
        hint: "Name both releases; `sealift releases` lists them.",
      });
    if (await this.#held(layout, target!, running?.name)) return this.done({});
    const kept = (name: string): Release => keptRelease(releases, running, name);
    const pair = [kept(this.from), kept(this.to ?? running!.name)] as const;
    const differences = await releaseDifferences(layout, target!, pair);
    if (differences === undefined)
      throw usageError("usage", "One of the releases has no list of its files: it was adopted.");
    if (this.json) {
      for (const difference of differences) this.print.event({ event: "difference", ...difference });
      return this.done({ from: pair[0].version, to: pair[1].version, differences: differences.length });
    }
    for (const difference of differences) this.print.line(differenceLine(difference, sizeText));
    if (differences.length === 0) this.note(`${pair[0].version} and ${pair[1].version} are the same.`);
    return this.done({});
  }

  /** Reports what the held version requests, which is not kept here: `true` if it is one of the two. */
  async #held(layout: Layout, target: TargetName, running: string | undefined): Promise<boolean> {
    const { readHeld } = await import("../../lib/releases/holds.ts");
    const held = await readHeld(layout, target, "rights");
    if (held?.over !== running || held === undefined || ![this.from, this.to].includes(held.version)) return false;
    const { version, running_version, rights } = held;
    if (this.json) {
      for (const right of rights) this.print.event({ event: "difference", what: "asked", right });
      return true;
    }
    this.note(`${version} is held: it was not installed, and asks for more than the running ${running_version}.`);
    for (const right of rights) this.print.line(`! ${right}`);
    return true;
  }
}
