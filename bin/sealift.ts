#!/usr/bin/env node
import { launch, SMALL_HEAP } from "./launch.ts";

const loadsPlugins = /^(?:runtime|plugin)/.test(process.argv[2] ?? "");
const isHub = process.argv[2] === "hub" && process.argv[3] === "serve";

launch(
  async () => {
    const [, , word, spec = "", ...words] = process.argv;
    if (word === "__complete" || word === "__complete-later") {
      // A shell waits for the first one: it loads no commands, and leaves a late hub to the second one.
      const { answerShell, askLater } = await import("../commands/shell/completion/candidates.ts");
      await (word === "__complete" ? answerShell : askLater)(spec, words).catch(() => undefined);
      process.exit(0);
    }
    if (word === "app" && spec === "run") {
      // Somebody waits for the command that it runs: no other one of Sealift is loaded.
      const [{ runAlone }, { AppRun }] = await Promise.all([
        import("../commands/shell/main.ts"),
        import("../commands/apps/app-run.ts"),
      ]);
      const code = await runAlone("sealift", AppRun, process.argv.slice(2));
      if (code !== undefined) return code;
    }
    const [{ runProgram }, { COMMANDS }] = await Promise.all([
      import("../commands/shell/main.ts"),
      import("../commands/shell/registry.ts"),
    ]);
    return runProgram("sealift", COMMANDS, process.argv.slice(2));
  },
  { ...(isHub && SMALL_HEAP), loadsPlugins },
);
