import type { LeftOut } from "../../../lib/artifact/tree/source-tree.ts";

/** Paths named for one reason; a tree of caches has thousands. */
const NAMED = 5;

/** Describes paths that are not packed: one line for each reason, with the first of its paths. */
export function* leftOutLines(leftOut: readonly LeftOut[]): Generator<string> {
  for (const [reason, paths] of Map.groupBy(leftOut, ({ pattern }) => pattern)) {
    const more = paths.length > NAMED ? `, and ${paths.length - NAMED} more` : "";
    const named = paths.slice(0, NAMED).map(({ path }) => path);
    yield `left out: ${named.join(", ")}${more} (${reason})`;
  }
}
