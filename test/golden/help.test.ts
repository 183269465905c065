/** Compares how each command is called. The page of options, generated and compared, says the rest of its help. */
import t from "tap";
import { ROLES } from "../../commands/shell/completion/tree.ts";
import { asRole, commandFacts } from "../../commands/shell/facts.ts";
import { usageLine } from "../../commands/shell/help.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { golden } from "../support/golden.ts";

t.test("every command is called as it was", (t) => {
  const roles = new Map(Object.entries(ROLES).map(([program, words]) => [words, program]));
  const lines = COMMANDS.flatMap((command) => {
    const facts = commandFacts(command);
    return facts.paths.flatMap((path) => {
      const words = path.join(" ");
      const program = roles.get(words);
      return [
        usageLine(`sealift ${words}`, facts),
        ...(program === undefined ? [] : [usageLine(program, asRole(facts))]),
      ];
    });
  });
  golden(t, "usage.txt", lines.toSorted().join("\n"));
  t.end();
});
