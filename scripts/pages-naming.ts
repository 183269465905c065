import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** Pages that are typed for one change, at most: each takes some ten seconds. */
const MOST = 3;

/**
 * Returns pages of `docs/` that a change may prove wrong: changed pages, then those whose blocks type a command of a
 * changed file, which is called after it: `sealift app env` for `commands/apps/app-env.ts`.
 */
export function pagesNaming(changed: readonly string[]): string[] {
  const own = changed.filter((file) => /^docs\/.*\.md$/.test(file));
  const commands = changed
    .filter((file) => /^commands\/.*\.tsx?$/.test(file))
    .map(
      (file) =>
        `sealift ${basename(file)
          .replace(/\.tsx?$/, "")
          .replaceAll("-", " ")}`,
    );
  const naming = globSync("docs/**/*.md").filter((page) => {
    const typed = readFileSync(page, "utf8").match(/^```sh$[^]*?^```$/gm) ?? [];
    return commands.some((command) => typed.some((block) => block.includes(command)));
  });
  return [...new Set([...own, ...naming.toSorted()])].slice(0, MOST);
}
