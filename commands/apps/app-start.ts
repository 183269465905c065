import { Command, Option } from "clipanion";
import { appRunner } from "../../lib/options/apps.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { projectRootAt } from "../targets/targets.ts";
import { requireHealthy, requireNotStopped } from "./require-healthy.ts";

export class AppStart extends withOptions(appRunner) {
  static override paths = [["app", "start"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Start an application that `app stop` has stopped",
    details: `
      Starts what is installed now, and asks for its health by \`app.yaml\`, as a deployment does. It ends with 1 when
      the application is not healthy; it goes on running then. What may not run is refused, and stays stopped.
    `,
    examples: [["After a repair", "$0 app start web"]],
  });

  id = Option.String({ name: "ID" });

  override async run(): Promise<number> {
    const [
      { supervisorOfRoot },
      { mayStart },
      { notAllowed },
      { programsOf, readInstalled },
      { noteStopped },
      { knownApplication },
    ] = await Promise.all([
      import("../../lib/agent/applications/root-supervisor.ts"),
      import("../../lib/agent/applications/admission.ts"),
      import("../../lib/agent/applications/not-allowed.ts"),
      import("../../lib/releases/applications.ts"),
      import("../../lib/releases/stopped.ts"),
      import("./application-id.ts"),
    ]);
    const { projectRoot, systemdScope } = this.options;
    const layout = projectRootAt(projectRoot);
    const id = await knownApplication(layout, this.id);
    using interrupt = interruptible();
    const { signal } = interrupt;
    const choice = { name: "none", systemdScope } as const;
    const installed = await readInstalled(layout, id);
    if (installed !== undefined) {
      const apps = new Map([[id, installed.app]]);
      const { refusal } = await mayStart({ layout, apps, supervisor: choice, signal });
      if (refusal !== undefined) throw notAllowed(refusal.message, refusal.faults);
    }
    const changed = await noteStopped(layout, id, false);
    if (!changed) this.note(`${id} was not stopped`);
    if (installed === undefined) {
      if (!this.json) this.print.line(`${id} is not installed: its first deployment starts it`);
      return this.done({ id, changed });
    }
    if (installed.app.schedule !== undefined) {
      if (!this.json) this.print.line(`${id} is a job, and begins at its times`);
      return this.done({ id, changed });
    }
    const supervisor = await supervisorOfRoot(layout, choice);
    await requireNotStopped(supervisor, id, installed.app.of);
    await supervisor.start(id, signal);
    await requireHealthy(supervisor, id, signal);
    if (!this.json) this.print.line(`${id} is healthy`);
    // They ended with it. systemd does not start them by itself.
    for (const other of await programsOf(layout, id)) {
      if ((await supervisor.passes?.(other)) === true) continue;
      await supervisor.start(other, signal);
      await requireHealthy(supervisor, other, signal);
      if (!this.json) this.print.line(`${other} is healthy`);
    }
    return this.done({ id, changed });
  }
}
