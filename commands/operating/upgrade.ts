import { homedir } from "node:os";
import { join } from "node:path";
import { Command } from "clipanion";
import type { DeployResult } from "../../lib/agent/deployment/run.ts";
import { upgrade as upgradeOptions } from "../../lib/options/operating.ts";
import { programVersion } from "../../lib/support/program-version.ts";
import { SealiftCommand, withOptions } from "../shell/base.ts";
import { showRun } from "../shell/output/deployment.ts";

/** Opens the file of this program. @throws SealiftError where it may not be replaced */
async function ownFile() {
  const [{ ownInstallation, replaceableProgram }, { ProgramFile }] = await Promise.all([
    import("../../lib/agent/upgrade/own-program.ts"),
    import("../../lib/agent/upgrade/program-file.ts"),
  ]);
  return ProgramFile.open(await replaceableProgram(ownInstallation()));
}

/** Remaining options of a deployment: nothing of this program is supervised. */
const UNSUPERVISED = {
  ...({ supervisor: "none", systemdScope: "system", runtimeUrl: "", staysUpMs: 0, healthUrl: [] } as const),
  ...{ supervisorName: undefined, pluginKey: undefined },
  ...{ acceptRights: false, templateEnv: [], pluginSecretKey: undefined, signingSecret: undefined, gitToken: [] },
  ...{ provisionersConfig: undefined, notifiersConfig: undefined },
};

export class Upgrade extends withOptions(upgradeOptions) {
  static override paths = [["upgrade"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Upgrade this program to a version of a project",
    details: `
      For the single executable. Fetches and verifies a version of the project that holds it, as \`project deploy\`
      does, runs the new program's \`self-check\`, and puts it in the place of this one by a rename. The one before is
      kept as \`sealift.former\`; \`sealift upgrade back\` exchanges the two. Whatever fails leaves the present program.

      Services that run go on with the former program until they are restarted. Where a package manager owns the
      program, the command says how it is upgraded there.
    `,
    examples: [
      ["To the latest version", "$0 upgrade --config /etc/sealift/upgrade.yaml"],
      ["To an earlier one", "$0 upgrade --config /etc/sealift/upgrade.yaml --version 0.2.0 --allow-downgrade"],
    ],
  });

  override async run(): Promise<number> {
    using file = await ownFile();
    const { projectTarget } = await import("../deploying/deploy-targets.ts");
    const { upgrade } = await import("../../lib/agent/upgrade/upgrade.ts");
    const { projectId, version: wanted, projectRoot = stateFolder() } = this.options;
    const target = await projectTarget({ ...this.options, ...UNSUPERVISED, projectRoot }, projectId, this.layers);
    const perform: Parameters<typeof showRun>[0] = (signal, emit) =>
      upgrade(target.source(wanted), { ...target.options, signal }, file, programVersion(), emit);
    return await showRun(perform, (result) => sentence(result, file.path), this.surroundings());
  }
}

const stateFolder = (): string =>
  process.getuid?.() === 0
    ? "/var/lib/sealift/upgrade"
    : join(process.env["XDG_STATE_HOME"] || join(homedir(), ".local/state"), "sealift/upgrade");

const sentence = ({ outcome, version }: DeployResult, path: string): string =>
  outcome === "unchanged"
    ? `unchanged: ${path} is ${version} already`
    : `upgraded ${path} to ${version}; restart the services that run it`;

export class UpgradeBack extends SealiftCommand {
  static override paths = [["upgrade", "back"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Go back to the program before the last upgrade",
    details: `
      Exchanges the program and \`sealift.former\` by a rename, without asking a hub. Once more, and the newer one is
      back. The next \`sealift upgrade\` takes the newest version again, unless it is given a \`--version\`. The hub
      goes on naming the version that was left, until \`sealift upgrade --version VERSION --allow-downgrade\` tells it
      the other.
    `,
    examples: [["Go back", "$0 upgrade back"]],
  });

  override async run(): Promise<number> {
    using file = await ownFile();
    await file.switchBack();
    if (!this.json) this.print.line(`${file.path} is the former program again; restart the services that run it`);
    this.note(
      "The hub is not told. `sealift upgrade --version VERSION --allow-downgrade`, with the former version, tells it.",
    );
    return this.done({ path: file.path });
  }
}
