#!/usr/bin/env node
import { launch } from "./launch.ts";

const loadsPlugins = /^(?:runtime|plugin)/.test(process.argv[2] ?? "");

launch(
  async () => {
    const [{ runProgram }, { COMMANDS }] = await Promise.all([
      import("../commands/shell/main.ts"),
      import("../commands/shell/registry.ts"),
    ]);
    return runProgram("sealift", COMMANDS, process.argv.slice(2));
  },
  { loadsPlugins },
);
