import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import { SealiftError, usageError } from "../../lib/contract/errors.ts";
import { systemd } from "../../lib/options/operating.ts";
import type { UnitOptions } from "../../lib/support/systemd/units.ts";
import { withOptions } from "../shell/base.ts";

export class SystemdInstall extends withOptions(systemd) {
  static override paths = [["systemd", "install"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Write the systemd units of hub, mirror, runtime, watch and apps",
    details: `
      Writes hardened units for this Node.js and this installation below \`/etc\`, and with them, for the runtime and
      the watch, a user, the folders of the project root, and a polkit rule that lets the watch restart
      \`sealift-plugin-*\` and nothing else. Files that were edited are not replaced without \`--force\`; changes belong
      in drop-ins. \`apps\` is written only where it is named: \`sealift app serve\` as root, with a control group for
      each application. Prints the path of each file; nothing is started.
    `,
    examples: [
      ["All of them", "$0 systemd install"],
      ["Look first", "$0 systemd install hub --dry-run"],
      ["Into an image", "$0 systemd install watch --root ./image --project-root /srv/harbour"],
    ],
  });

  services = Option.Rest({ name: "apps|hub|mirror|runtime|watch" });

  override async run(): Promise<number> {
    const units = await import("../../lib/support/systemd/units.ts");
    const unknown = this.services.filter((name) => !units.SYSTEMD_SERVICES.includes(name as never));
    if (unknown.length > 0) {
      throw usageError("usage", `There are units for ${units.SYSTEMD_SERVICES.join(", ")}, not ${unknown.join(", ")}.`);
    }
    const services =
      this.services.length === 0
        ? units.USUAL_SERVICES
        : units.SYSTEMD_SERVICES.filter((name) => this.services.includes(name));
    const { projectRoot, root, dryRun } = this.options;
    const options = units.ofThisProgram({ services, projectRoot, root });
    const files = await units.planUnits(options);
    const warnings = [...units.hiddenPaths(options), ...(await refusedRoot(options))];
    for (const warning of warnings) this.note(`warning: ${warning}`);
    if (dryRun) {
      if (!this.json) for (const { target, content } of files) this.print.text(`# ${target}\n${content}`);
      return this.done({
        dry_run: true,
        files: files.map(({ target, ...file }) => ({ ...file, path: target })),
        warnings,
      });
    }
    await units.writeUnits(files, { force: this.options.force });
    const next = units.nextSteps(files, options);
    if (!this.json) for (const { target } of files) this.print.line(target);
    this.note(["Next:", ...next].join("\n  "));
    return this.done({ files: files.map(({ target, state }) => ({ path: target, state })), warnings, next });
  }
}

/** Says why `sealift-apps`, which runs as root, would refuse the project root; nothing where it would not. */
async function refusedRoot({ services, projectRoot, root }: UnitOptions): Promise<string[]> {
  if (!services.includes("apps")) return [];
  const remedy = "Install a unit for each application instead: sealift systemd install app ID";
  if (services.includes("watch") || services.includes("runtime"))
    return [`sealift-apps runs as root, and refuses ${projectRoot}, which the watch's user will own. ${remedy}`];
  // The maker of an image decides later who owns its folders.
  if (resolve(root) !== "/") return [];
  const [{ layoutOf }, { requireOwnRoot }] = await Promise.all([
    import("../../lib/releases/layout.ts"),
    import("../../lib/releases/project-root.ts"),
  ]);
  try {
    await requireOwnRoot(layoutOf(projectRoot));
    return [];
  } catch (error) {
    if (!(error instanceof SealiftError)) throw error;
    return [`sealift-apps runs as root, and will not start: ${error.message} ${remedy}`];
  }
}
