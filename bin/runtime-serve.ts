#!/usr/bin/env node
import { launch } from "./launch.ts";

// Node opens its debugger on SIGUSR1, for anyone of the same user: not in a process that holds everybody's secrets.
launch(
  async () => {
    const [{ runRole }, { RuntimeServe }] = await Promise.all([
      import("../commands/shell/main.ts"),
      import("../commands/plugins/runtime-serve.ts"),
    ]);
    return runRole("runtime-serve", RuntimeServe, process.argv.slice(2));
  },
  { nodeFlags: ["--disable-sigusr1"], loadsPlugins: true },
);
