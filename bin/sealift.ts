#!/usr/bin/env node
import { launch } from "./launch.ts";

launch(async () => {
  const [{ runProgram }, { COMMANDS }] = await Promise.all([
    import("../commands/main.ts"),
    import("../commands/index.ts"),
  ]);
  return runProgram("sealift", COMMANDS, process.argv.slice(2));
});
