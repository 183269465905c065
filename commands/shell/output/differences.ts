import type { Difference } from "../../../lib/agent/deployment/release-diff.ts";
import { fieldsOf } from "./records.ts";

/** Fields of differences; `what` determines which of them one has. */
export const DIFFERENCE_FIELDS = fieldsOf<Difference>({
  ...{ what: true, change: true, path: true, before: true, after: true },
  ...{ plugin: true, right: true, app: true, key: true, id: true, action: true },
});

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;

/** Returns a difference as one line for people. */
export function differenceLine(difference: Difference, sizeText: (bytes: number) => string): string {
  const sign = SIGNS[difference.change];
  if (difference.what === "right") return `${sign} right of ${difference.plugin}: ${difference.right}`;
  if (difference.what === "step") return `${sign} step ${difference.id} (${difference.action})`;
  if (difference.what === "command" || difference.what === "term") {
    const sides = [difference.before, difference.after].filter((side) => side !== null);
    return `${sign} ${difference.key} of apps/${difference.app}: ${sides.join(" → ")}`;
  }
  const { path, before, after } = difference;
  const sizes = [before, after].flatMap((bytes) => (bytes === null ? [] : sizeText(bytes)));
  return `${sign} ${path} (${sizes.join(" → ")})`;
}
