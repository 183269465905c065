#!/usr/bin/env node
import { launch } from "./launch.ts";

launch(async () => {
  const [{ runRole }, { DeployMarketplace }] = await Promise.all([
    import("../commands/shell/main.ts"),
    import("../commands/deploying/deploy-marketplace.ts"),
  ]);
  return runRole("deploy-marketplace", DeployMarketplace, process.argv.slice(2));
});
