import { globSync, readFileSync } from "node:fs";
import { commandsIn } from "./typed-commands.ts";

/** Pages that are typed for one change, at most: each takes some ten seconds. */
const MOST = 3;

/**
 * Returns pages of `docs/` that a change may prove wrong: changed pages, then those whose blocks type a command of a
 * changed file.
 */
export function pagesNaming(changed: readonly string[]): string[] {
  const own = changed.filter((file) => /^docs\/.*\.md$/.test(file));
  const commands = changed.filter((file) => /^commands\/.*\.tsx?$/.test(file)).flatMap(commandsIn);
  const naming = globSync("docs/**/*.md").filter((page) => {
    const typed = readFileSync(page, "utf8").match(/^```sh$[^]*?^```$/gm) ?? [];
    return commands.some((command) => typed.some((block) => block.includes(`sealift ${command}`)));
  });
  return [...new Set([...own, ...naming.toSorted()])].slice(0, MOST);
}
