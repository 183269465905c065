import { Command, Option } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { asSealiftError } from "../../lib/contract/errors.ts";
import { trial } from "../../lib/options/runtime.ts";
import type { TrialCase, TrialOutcome } from "../../lib/runtime/authoring/trial.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { aborted } from "../shell/serve.ts";
import { trialNotes } from "./plugin-pack.ts";

export class PluginTest extends withOptions(trial) {
  static override paths = [["plugin", "test"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Run a plugin in a throw-away runtime",
    details: `
      Loads a copy of the plugin in its own mode, asks for its health, and makes the calls of its \`plugin.test.yaml\`:
      a list of \`{name, action, payload, result | code}\`. With \`--call\` it makes that one call instead and prints
      what it returns. With \`--watch\` it goes on until it is interrupted, and runs again after each save.
    `,
    examples: [
      ["The calls of plugin.test.yaml", "$0 plugin test ./greeter"],
      ["Again after each save", "$0 plugin test ./greeter --watch"],
      ["One call", `$0 plugin test ./greeter --call greet --payload '{"name":"Ada"}'`],
    ],
  });

  folder = Option.String({ required: false, name: "FOLDER" });

  override async run(): Promise<number> {
    if (!this.options.watch) return this.#once();
    const { onChange } = await import("../../lib/runtime/authoring/on-change.ts");
    using interrupt = interruptible();
    const folder = this.folder ?? ".";
    const again = async (): Promise<void> => {
      await this.#once().catch((thrown: unknown) => this.fail(asSealiftError(thrown)));
      this.note(`waiting for a change of ${folder}`);
    };
    using _watching = onChange(folder, again);
    await again();
    await aborted(interrupt.signal);
    return this.done({});
  }

  async #once(): Promise<number> {
    const { call, payload, integration, include, logLevel } = this.options;
    const [{ tryPlugin }, { createLogger }] = await Promise.all([
      import("../../lib/runtime/authoring/trial.ts"),
      import("../../lib/support/logging.ts"),
    ]);
    const cases: TrialCase[] | undefined = call === undefined ? undefined : [{ action: call, payload }];
    const report = await tryPlugin({
      folder: this.folder ?? ".",
      include,
      onListed: (list) => {
        for (const line of trialNotes(list)) this.note(line);
      },
      logger: (rewrite) => createLogger({ name: "plugin-test", level: this.json ? "silent" : logLevel, rewrite }),
      ...(cases && { cases }),
      ...(integration !== undefined && { configFile: integration }),
    });
    const failed = report.outcomes.filter(({ passed }) => !passed);
    const passed = failed.length === 0 && report.health.status !== "unhealthy";
    if (this.json) {
      this.print.event({
        event: "result",
        status: passed ? "success" : "failed",
        exit_code: passed ? EXIT.done : EXIT.failed,
        ...report,
      });
    } else if (call !== undefined) {
      this.print.text(JSON.stringify(report.outcomes[0]?.answer, null, 2));
    } else {
      this.print.line(`${report.plugin} ${report.version} (${report.mode}): ${report.health.status}`);
      for (const outcome of report.outcomes) for (const line of linesOf(outcome)) this.print.line(line);
    }
    return passed ? EXIT.done : EXIT.failed;
  }
}

function linesOf({ name, passed, reason, stack, duration_ms }: TrialOutcome): string[] {
  if (passed) return [`ok ${name} (${duration_ms} ms)`];
  return [`failed ${name}: ${reason ?? ""}`, ...(stack?.split("\n").map((line) => `    ${line}`) ?? [])];
}
