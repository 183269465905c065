import { Command, Option } from "clipanion";
import { deploymentError, usageError } from "../../lib/contract/errors.ts";
import { appRunner } from "../../lib/options/apps.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { projectRootAt } from "../targets/targets.ts";
import { requireHealthy, requireNotStopped } from "./require-healthy.ts";

export class AppRestart extends withOptions(appRunner) {
  static override paths = [["app", "restart"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Restart an application, and wait until it is healthy",
    details: `
      Lets the old process end, migrates, starts the new one, and asks for its health by \`app.yaml\`, as a deployment
      does. What cannot start is refused before anything is stopped. Sockets that the host keeps stay open meanwhile. It ends with 1 when the application is not healthy; nothing
      goes back then.
    `,
    examples: [["After a change of its settings", "$0 app restart web"]],
  });

  id = Option.String({ name: "ID" });

  override async run(): Promise<number> {
    const [{ supervisorOfRoot }, { mayStart }, { notAllowed }, { readInstalled }, { knownApplication }] =
      await Promise.all([
        import("../../lib/agent/applications/root-supervisor.ts"),
        import("../../lib/agent/applications/admission.ts"),
        import("../../lib/agent/applications/not-allowed.ts"),
        import("../../lib/releases/applications.ts"),
        import("./application-id.ts"),
      ]);
    const { projectRoot, systemdScope } = this.options;
    const layout = projectRootAt(projectRoot);
    const id = await knownApplication(layout, this.id);
    using interrupt = interruptible();
    const choice = { name: "none", systemdScope } as const;
    // Before anything is stopped.
    const installed = await readInstalled(layout, id);
    if (installed === undefined) throw deploymentError("app_not_installed", `The application ${id} is not installed.`);
    if (installed.app.schedule !== undefined)
      throw usageError("usage", `${id} is a job, and begins at its times.`, {
        hint: "`sealift app status` says when.",
      });
    const apps = new Map([[id, installed.app]]);
    const { refusal } = await mayStart({ layout, apps, supervisor: choice, signal: interrupt.signal });
    if (refusal !== undefined) throw notAllowed(refusal.message, refusal.faults);
    const supervisor = await supervisorOfRoot(layout, choice);
    await requireNotStopped(supervisor, id, installed.app.of);
    await supervisor.restart(id, interrupt.signal);
    this.note(`${id} was restarted`);
    await requireHealthy(supervisor, id, interrupt.signal);
    if (!this.json) this.print.line(`${id} is healthy`);
    return this.done({ id });
  }
}
