import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { consent } from "../../lib/options/inspection.ts";
import { withOptions } from "../shell/base.ts";
import { openProjectRootAt, targetsAt } from "../targets/targets.ts";

export class WatchConsent extends withOptions(consent) {
  static override paths = [["watch", "consent"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Agree to the rights that a held version asks for",
    details: `
      An upgrade that asks for more rights than the running release is held. This command prints what it asks for, and
      agrees to exactly that: a further version that asks for still more is held again, and so is this one once another
      release runs. A watch deploys it at its next check, which is asked for at once; without a watch, deploy it again.
      \`sealift status\` shows what is held.
    `,
    examples: [
      ["The version that was looked at", "$0 watch consent plugin:tide-table --version 2.0.0 --project-root /srv/app"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });

  override async run(): Promise<number> {
    await using root = await openProjectRootAt(this.options);
    const { layout } = root;
    const [name] = await targetsAt(layout, [this.target]);
    const target = name!;
    const [{ consentTo }, { readHeld }, { currentName }, { requestAction }] = await Promise.all([
      import("../../lib/releases/consent.ts"),
      import("../../lib/releases/holds.ts"),
      import("../../lib/releases/release.ts"),
      import("../../lib/agent/watch/operator-requests.ts"),
    ]);
    const held = await readHeld(layout, target, "rights");
    if (held === undefined || held.over !== (await currentName(layout, target)))
      throw usageError("usage", `No version of ${this.target} is held for its rights.`, {
        hint: "`sealift status` shows what is held.",
      });
    const { version, running_version, rights } = held;
    const { version: meant = version } = this.options;
    if (meant !== version)
      throw usageError("usage", `${version} of ${this.target} is held, not ${meant}.`, {
        hint: `Look at what ${version} asks for with \`sealift status\` first.`,
      });
    await consentTo(layout, target, held);
    await requestAction(layout, target, "check");
    if (!this.json) {
      this.print.line(`agreed to what ${version} asks for beyond ${running_version}:`);
      for (const right of rights) this.print.line(`  ${right}`);
    }
    return this.done({ target: this.target, version, running_version, rights });
  }
}
