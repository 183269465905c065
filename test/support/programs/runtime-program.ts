/** The runtime's commands as one program, from the sources: what `bin/` does for the built product. */
import { PluginInit } from "../../../commands/plugins/plugin-init.ts";
import { PluginTest } from "../../../commands/plugins/plugin-test.ts";
import { RuntimeServe } from "../../../commands/plugins/runtime-serve.ts";
import { runProgram } from "../../../commands/shell/main.ts";

process.exitCode = await runProgram("sealift", [RuntimeServe, PluginInit, PluginTest], process.argv.slice(2));
