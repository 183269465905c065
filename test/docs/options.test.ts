import type { CommandClass } from "clipanion";
import t from "tap";
import type { SealiftCommand } from "../../commands/shell/base.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { readPage, repositoryFiles } from "../support/docs/pages.ts";

/** A page that is made from the table of options, and so has every one. */
const MADE = "docs/options.md";

/** Returns the flags of all commands, each with a command that has it. */
const flagsOfCommands = (): Map<string, string> =>
  new Map(
    (COMMANDS as (CommandClass & Pick<typeof SealiftCommand, "table">)[]).flatMap(({ paths, table }) =>
      Object.values(table).map(({ flag }) => [flag, paths![0]!.join(" ")] as const),
    ),
  );

t.test("every option of every command stands on a page that tells what it is for", (t) => {
  const written = repositoryFiles("docs/*.md").filter((path) => path !== MADE && !path.startsWith("docs/decisions/"));
  const text = written.map(readPage).join("\n");
  // A secret is given as a file, and a yes may be said by its no.
  const missing = [...flagsOfCommands()].filter(
    ([flag]) => !new RegExp(`--(?:no-)?${flag.slice(2)}(?:-file)?(?![\\w-])`).test(text),
  );
  t.strictSame(
    missing.map(([flag, command]) => `${flag} of ${command}`),
    [],
  );
  t.end();
});
