import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Command, Option } from "clipanion";
import type { LogCommand } from "../../lib/agent/supervisors/log-commands.ts";
import { deploymentError, usageError } from "../../lib/contract/errors.ts";
import { logs } from "../../lib/options/inspection.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

export class Logs extends withOptions(logs) {
  static override paths = [["logs"]];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Show what a target's plugins write, as their supervisor keeps it",
    details: `
      Asks systemd's journal, docker or kubernetes for the units of the running release, or for those of the plugins
      that are named. The lines
      of several containers begin with their names.
    `,
    examples: [
      ["Follow a plugin", "$0 logs plugin:tide-table --follow --supervisor systemd"],
      ["Of one plugin of a project", "$0 logs project:prj_… harbour-clock --lines 200 --supervisor docker"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });
  plugins = Option.Rest({ name: "PLUGIN" });
  /** As `journalctl -f` and `docker logs -f` have it. */
  short = Option.Boolean("-f", false, { hidden: true });

  override async run(): Promise<number> {
    const { projectRoot, supervisor, supervisorName, systemdScope, k8sNamespace, k8sContext } = this.options;
    const layout = projectRootAt(projectRoot);
    const [target] = await targetsAt(layout, [this.target]);
    const [{ currentRelease }, { logCommands }] = await Promise.all([
      import("../../lib/releases/release.ts"),
      import("../../lib/agent/supervisors/log-commands.ts"),
    ]);
    const release = await currentRelease(layout, target!);
    if (release === undefined) throw usageError("usage", `Nothing of ${this.target} runs here.`);
    const installed = release.items.filter(({ section }) => section === "plugins").map(({ id }) => id);
    const strange = this.plugins.filter((id) => !installed.includes(id));
    if (strange.length > 0) {
      throw usageError("usage", `${this.target} has no plugin ${strange.join(", ")}.`, {
        hint: `It has ${installed.join(", ")}.`,
      });
    }
    const commands = logCommands({
      ...{
        supervisor,
        systemdScope,
        template: supervisorName,
        lines: this.options.lines,
        follow: this.options.follow || this.short,
      },
      ...{ namespace: k8sNamespace, context: k8sContext },
      units: [this.plugins, release.units ?? [], installed].find((units) => units.length > 0) ?? [],
    });
    using interrupt = interruptible();
    const shown = commands.length > 1;
    await Promise.all(commands.map((command) => this.#print(command, shown, interrupt.signal)));
    return this.done({ target: this.target });
  }

  /** Prints the lines of one program until it ends. @throws DeploymentError `supervisor_failed` */
  async #print({ unit, command }: LogCommand, namesUnit: boolean, signal: AbortSignal): Promise<void> {
    const { childEnvironment } = await import("../../lib/agent/deployment/child-program.ts");
    const [program, ...args] = command;
    const child = spawn(program, args, { env: childEnvironment(), stdio: ["ignore", "pipe", "pipe"] });
    const stop = (): boolean => child.kill("SIGTERM");
    signal.addEventListener("abort", stop, { once: true });
    try {
      const ended = once(child, "close") as Promise<[number | null]>;
      // A program that prints what containers wrote prints their stderr on its own.
      const [, , [code]] = await Promise.all([
        this.#lines(child.stdout, namesUnit ? unit : null),
        this.#lines(child.stderr, namesUnit ? unit : null),
        ended,
      ]);
      if (code !== 0 && !signal.aborted)
        throw deploymentError("supervisor_failed", `\`${command.join(" ")}\` ended with ${code ?? "a signal"}.`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      throw deploymentError("supervisor_failed", `${program} is not installed here.`, { cause: error });
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  }

  async #lines(stream: NodeJS.ReadableStream, unit: string | null): Promise<void> {
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
      if (this.json) this.print.event({ event: "line", unit, line });
      else this.print.line(unit === null ? line : `${unit} | ${line}`);
    }
  }
}
