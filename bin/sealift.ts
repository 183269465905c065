#!/usr/bin/env node
import { launch, SMALL_HEAP } from "./launch.ts";

const loadsPlugins = /^(?:runtime|plugin)/.test(process.argv[2] ?? "");
const isRun = process.argv[2] === "app" && process.argv[3] === "run";
const isHub = process.argv[2] === "hub" && process.argv[3] === "serve";
// Not `watch pause` and its like, for which a person waits.
const isWatch =
  process.argv[2] === "watch" && !/^[a-z]+$/.test(process.argv[3] ?? "") && !process.argv.includes("--once");

launch(
  async (prepare) => {
    const [, , word, spec = "", ...words] = process.argv;
    if (word === "__complete" || word === "__complete-later") {
      // A shell waits for the first one: it loads no commands, and leaves a late hub to the second one.
      const { answerShell, askLater } = await import("../commands/shell/completion/candidates.ts");
      await (word === "__complete" ? answerShell : askLater)(spec, words).catch(() => undefined);
      process.exit(0);
    }
    if (isRun) {
      // A person waits for the command, so little is loaded before it.
      const { runAtOnce } = await import("../commands/apps/run-served.ts");
      const code = await runAtOnce(process.argv.slice(4));
      if (code !== undefined) return code;
      prepare();
    }
    const [{ runProgram }, { COMMANDS }] = await Promise.all([
      import("../commands/shell/main.ts"),
      import("../commands/shell/registry.ts"),
    ]);
    return runProgram("sealift", COMMANDS, process.argv.slice(2));
  },
  { ...(isHub && SMALL_HEAP), isLean: isRun, isPatient: isWatch, loadsPlugins },
);
