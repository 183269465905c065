import t from "tap";
import { ROLES } from "../../commands/shell/completion/tree.ts";
import { asRole, commandFacts } from "../../commands/shell/facts.ts";
import { commandHelp } from "../../commands/shell/help.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { golden } from "../support/golden.ts";

t.test("the help of every command is what it was", (t) => {
  const roles = new Map(Object.entries(ROLES).map(([program, words]) => [words, program]));
  const pages: string[] = [];
  for (const command of COMMANDS) {
    const facts = commandFacts(command);
    for (const [index, path] of facts.paths.entries()) {
      const words = path.join(" ");
      const program = roles.get(words);
      if (program !== undefined) pages.push(`$ ${program} --help\n${commandHelp(program, "", asRole(facts), 80)}`);
      if (index === 0) pages.push(`$ sealift ${words} --help\n${commandHelp("sealift", words, facts, 80)}`);
    }
  }
  golden(t, "help.txt", pages.toSorted().join("\n"));
  t.end();
});
