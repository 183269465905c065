#!/usr/bin/env node
import { launch } from "./launch.ts";

launch(async () => {
  const [{ runRole }, { DeployPublish }] = await Promise.all([
    import("../commands/shell/main.ts"),
    import("../commands/publishing/deploy-publish.ts"),
  ]);
  return runRole("deploy-publish", DeployPublish, process.argv.slice(2));
});
