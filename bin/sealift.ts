#!/usr/bin/env node
import { launch } from "./launch.ts";

const loadsPlugins = /^(?:runtime|plugin)/.test(process.argv[2] ?? "");

launch(
  async () => {
    if (process.argv[2] === "__complete") {
      // A shell waits for this one: it loads no commands, and leaves what a hub answers too late.
      const { answerShell } = await import("../commands/shell/completion/candidates.ts");
      await answerShell(process.argv.slice(3)).catch(() => undefined);
      process.exit(0);
    }
    const [{ runProgram }, { COMMANDS }] = await Promise.all([
      import("../commands/shell/main.ts"),
      import("../commands/shell/registry.ts"),
    ]);
    return runProgram("sealift", COMMANDS, process.argv.slice(2));
  },
  { loadsPlugins },
);
