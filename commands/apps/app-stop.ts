import { Command, Option } from "clipanion";
import { appRunner } from "../../lib/options/apps.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { projectRootAt } from "../targets/targets.ts";

export class AppStop extends withOptions(appRunner) {
  static override paths = [["app", "stop"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Stop an application, until `app start`",
    details: `
      Ends the application and closes its sockets. It stays stopped over boots, deployments and rollbacks: versions are
      installed, and this one is neither started nor asked. It is not unhealthy for that, and a rollout counts the host.
    `,
    examples: [["For the time of a repair", "$0 app stop web"]],
  });

  id = Option.String({ name: "ID" });

  override async run(): Promise<number> {
    const [{ supervisorOfRoot }, { noteStopped }, { knownApplication }, { staleUnit }] = await Promise.all([
      import("../../lib/agent/applications/root-supervisor.ts"),
      import("../../lib/releases/stopped.ts"),
      import("./application-id.ts"),
      import("../../lib/agent/supervisors/stale-unit.ts"),
    ]);
    const { projectRoot, systemdScope } = this.options;
    const layout = projectRootAt(projectRoot);
    const id = await knownApplication(layout, this.id);
    using interrupt = interruptible();
    const supervisor = await supervisorOfRoot(layout, { name: "none", systemdScope });
    // Before it ends: what runs it, and whoever deploys meanwhile, must not start it again.
    const changed = await noteStopped(layout, id, true);
    this.note(changed ? `${id} is not started again until \`sealift app start ${id}\`` : `${id} was stopped already`);
    await supervisor.stop(id, interrupt.signal);
    const stale = await staleUnit(layout, id, systemdScope, interrupt.signal);
    if (stale !== undefined) this.warn(stale);
    if (!this.json) this.print.line(`${id} is stopped`);
    return this.done({ id, changed });
  }
}
