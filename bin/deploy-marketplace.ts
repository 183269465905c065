#!/usr/bin/env node
import { launch } from "./launch.ts";

launch(async () => {
  const [{ runRole }, { DeployMarketplace }] = await Promise.all([
    import("../commands/main.ts"),
    import("../commands/deploy-marketplace.ts"),
  ]);
  return runRole("deploy-marketplace", DeployMarketplace, process.argv.slice(2));
});
