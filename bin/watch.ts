#!/usr/bin/env node
import { launch } from "./launch.ts";

launch(
  async () => {
    const [{ runRole }, { WatchCommand }] = await Promise.all([
      import("../commands/shell/main.ts"),
      import("../commands/deploying/watch.ts"),
    ]);
    return runRole("deploy-watch", WatchCommand, process.argv.slice(2));
  },
  { isPatient: !process.argv.includes("--once") },
);
