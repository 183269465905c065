import { Command, Option } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { audit } from "../../lib/options/runtime.ts";
import type { AuditReport } from "../../lib/runtime/authoring/plugin-audit.ts";
import { withOptions } from "../shell/base.ts";
import { trialNotes } from "./plugin-pack.ts";

export class PluginAudit extends withOptions(audit) {
  static override paths = [["plugin", "audit"]];
  static override usage = Command.Usage({
    category: "Plugins",
    description: "Find the smallest permissions that a plugin needs",
    details: `
      Makes the calls of \`plugin.test.yaml\` in a throw-away runtime that refuses nothing and takes notes, and prints
      the least that plugin.yaml has to ask for and integration.yaml to grant. What the calls do not reach is not seen.
      Ends with 1 when a call fails, when plugin.yaml asks for too little, or when the plugin does what no sandbox
      allows.
    `,
    examples: [["The plugin in this folder", "$0 plugin audit"]],
  });

  folder = Option.String({ required: false, name: "FOLDER" });

  override async run(): Promise<number> {
    const { integration, asRoot, include, logLevel } = this.options;
    const [{ auditPlugin }, { createLogger }] = await Promise.all([
      import("../../lib/runtime/authoring/plugin-audit.ts"),
      import("../../lib/support/logging.ts"),
    ]);
    const report = await auditPlugin({
      folder: this.folder ?? ".",
      asRoot,
      include,
      onListed: (list) => {
        for (const line of trialNotes(list)) this.note(line);
      },
      logger: (rewrite) => createLogger({ name: "plugin-audit", level: this.json ? "silent" : logLevel, rewrite }),
      ...(integration !== undefined && { configFile: integration }),
    });
    const failed = report.outcomes.filter(({ passed }) => !passed);
    const enough = failed.length + report.missing.length + report.refused.length === 0;
    const exit_code = enough ? EXIT.done : EXIT.failed;
    if (this.json) this.print.event({ event: "result", status: enough ? "success" : "failed", exit_code, ...report });
    else for (const line of linesOf(report)) this.print.line(line);
    return exit_code;
  }
}

function* linesOf(report: AuditReport): Generator<string> {
  const { plugin, version, mode, outcomes, permissions, network, writes } = report;
  const passed = outcomes.filter((outcome) => outcome.passed).length;
  yield `${plugin} ${version} (${mode}): ${passed} of ${outcomes.length} calls passed`;
  for (const { name, reason } of outcomes.filter((outcome) => !outcome.passed)) yield `failed ${name}: ${reason ?? ""}`;
  yield "";
  yield "# plugin.yaml";
  const rules = permissions.map(
    ({ resource, actions }) => `  - { resource: "${resource}", actions: [${actions.join(", ")}] }`,
  );
  yield rules.length === 0 ? "permissions: []" : "permissions:";
  yield* rules;
  yield network.length === 0 ? "network: false" : `network: ${JSON.stringify(network)}`;
  if (writes.length > 0) yield `filesystem: { allowed_paths: ${JSON.stringify(["data/", ...writes])} }`;
  if (network.length > 0) {
    yield "";
    yield "# integration.yaml";
    yield `plugins: { grants: { ${plugin}: { network: ${JSON.stringify(network)} } } }`;
  }
  const notes = {
    missing: "used, and not asked for",
    unused: "asked for, and not used",
    refused: "refused by every sandbox",
  };
  for (const [key, meaning] of Object.entries(notes)) {
    for (const line of report[key as keyof typeof notes]) yield `# ${meaning}: ${line}`;
  }
}
