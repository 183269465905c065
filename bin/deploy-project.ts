#!/usr/bin/env node
import { launch } from "./launch.ts";

launch(async () => {
  const [{ runRole }, { DeployProject }] = await Promise.all([
    import("../commands/shell/main.ts"),
    import("../commands/deploying/deploy-project.ts"),
  ]);
  return runRole("deploy-project", DeployProject, process.argv.slice(2));
});
