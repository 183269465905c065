/** The runtime's commands as one program, from the sources: what `bin/` does for the built product. */
import { PluginAudit } from "../../../commands/plugins/plugin-audit.ts";
import { PluginInit } from "../../../commands/plugins/plugin-init.ts";
import { PluginRights } from "../../../commands/plugins/plugin-rights.ts";
import { PluginTest } from "../../../commands/plugins/plugin-test.ts";
import { RuntimeServe } from "../../../commands/plugins/runtime-serve.ts";
import { runProgram } from "../../../commands/shell/main.ts";

process.exitCode = await runProgram(
  "sealift",
  [RuntimeServe, PluginAudit, PluginInit, PluginRights, PluginTest],
  process.argv.slice(2),
);
