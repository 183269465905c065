#!/usr/bin/env node
import { launch, SMALL_HEAP } from "./launch.ts";

launch(async () => {
  const [{ runRole }, { HubServe }] = await Promise.all([
    import("../commands/shell/main.ts"),
    import("../commands/hub/hub-serve.ts"),
  ]);
  return runRole("hub-serve", HubServe, process.argv.slice(2));
}, SMALL_HEAP);
