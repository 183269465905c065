import { Command, Option } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { usageError } from "../../lib/contract/errors.ts";
import type { TrialCase, TrialOutcome } from "../../lib/runtime/authoring/trial.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { SealiftCommand } from "../shell/base.ts";

function parsePayload(text: string | undefined): unknown {
  try {
    return text === undefined ? {} : JSON.parse(text);
  } catch {
    throw usageError("usage", `--payload is not JSON: ${String(text)}`);
  }
}

export class PluginTest extends SealiftCommand {
  static override paths = [["plugin", "test"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Run a plugin in a throw-away runtime",
    details: `
      Loads a copy of the plugin in its own mode, asks for its health, and makes the calls of its \`plugin.test.yaml\`: a list of
      \`{name, action, payload, result | code}\`. With \`--call\` it makes that one call instead and prints what it returns.
    `,
    examples: [
      ["The calls of plugin.test.yaml", "$0 plugin test ./greeter"],
      ["One call", `$0 plugin test ./greeter --call greet --payload '{"name":"Ada"}'`],
    ],
  });

  folder = Option.String({ required: false, name: "FOLDER" });
  call = Option.String("--call", { description: "Make one call of this action" });
  payload = Option.String("--payload", { description: "Its payload, as JSON ({})" });
  integration = Option.String("--integration", {
    description: "integration.yaml whose services and grants the plugin gets",
  });
  logLevel = Option.String("--log-level", { description: "trace, debug, info, warn, error or silent (warn)" });

  override async run(settings: Settings): Promise<number> {
    const level = settings.choice("log-level", ["trace", "debug", "info", "warn", "error", "silent"] as const, "warn");
    const [{ tryPlugin }, { createLogger }] = await Promise.all([
      import("../../lib/runtime/authoring/trial.ts"),
      import("../../lib/support/logging.ts"),
    ]);
    const cases: TrialCase[] | undefined =
      this.call === undefined ? undefined : [{ action: this.call, payload: parsePayload(this.payload) }];
    const report = await tryPlugin({
      folder: this.folder ?? ".",
      logger: createLogger({ name: "plugin-test", level: this.json ? "silent" : level }),
      ...(cases && { cases }),
      ...(this.integration !== undefined && { configFile: this.integration }),
    });
    const failed = report.outcomes.filter(({ passed }) => !passed);
    const passed = failed.length === 0 && report.health.status !== "unhealthy";
    if (this.json) {
      this.output.event({
        event: "result",
        status: passed ? "success" : "failed",
        exit_code: passed ? EXIT.done : EXIT.failed,
        ...report,
      });
    } else if (this.call !== undefined) {
      this.output.line(JSON.stringify(report.outcomes[0]?.answer, null, 2));
    } else {
      this.output.line(`${report.plugin} ${report.version} (${report.mode}): ${report.health.status}`);
      for (const outcome of report.outcomes) this.output.line(lineOf(outcome));
    }
    return passed ? EXIT.done : EXIT.failed;
  }
}

const lineOf = ({ name, passed, reason, duration_ms }: TrialOutcome): string =>
  passed ? `ok ${name} (${duration_ms} ms)` : `failed ${name}: ${reason ?? ""}`;
