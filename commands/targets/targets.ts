import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { usageError } from "../../lib/contract/errors.ts";
import { type TargetName, targetOfName, targetText } from "../../lib/contract/target.ts";
import { type Layout, layoutOf } from "../../lib/releases/layout.ts";
import type { ProjectRoot, RootOptions } from "../../lib/releases/project-root.ts";

/** Returns a project root in which something was deployed or watched. @throws UsageError `usage` */
export function projectRootAt(path: string): Layout {
  const layout = layoutOf(resolve(path));
  if (existsSync(layout.sealift)) return layout;
  throw usageError("usage", `${layout.root} is not a project root: nothing was ever deployed or watched there.`, {
    hint: "Name it with --project-root.",
  });
}

/**
 * Opens a project root in which something was deployed or watched, for a command that writes there.
 *
 * @throws UsageError `usage`, DeploymentError `root_foreign`, `root_unusable`
 */
export async function openProjectRootAt(options: RootOptions & { projectRoot: string }): Promise<ProjectRoot> {
  const { openProjectRoot } = await import("../../lib/releases/project-root.ts");
  return openProjectRoot(projectRootAt(options.projectRoot), options);
}

/**
 * Returns the targets with these names, or all where none is named. A name is `KIND:SLUG`, or the slug, id or project's
 * name alone if it is unique.
 *
 * @throws UsageError `usage` for an unknown or ambiguous one
 */
export async function targetsAt(layout: Layout, names: readonly string[]): Promise<TargetName[]> {
  const [{ knownTargets }, { titleOf }] = await Promise.all([
    import("../../lib/releases/targets.ts"),
    import("../../lib/agent/watch/target-on-disk.ts"),
  ]);
  const known = await knownTargets(layout);
  if (names.length === 0) return known;
  const texts = known.map((name) => targetText(targetOfName(name)));
  const titles = await Promise.all(known.map((name) => titleOf(layout, name)));
  const meantBy = (word: string): readonly TargetName[] => {
    const called = (text: string | undefined) => text === word || text?.endsWith(`:${word}`) === true;
    const exact = known.filter((_name, index) => texts[index] === word);
    return exact.length > 0 ? exact : known.filter((_name, index) => called(texts[index]) || called(titles[index]));
  };
  const unknown = names.filter((name) => meantBy(name).length !== 1);
  if (unknown.length === 0) return names.map((name) => meantBy(name)[0]!);
  const several = meantBy(unknown[0]!);
  if (several.length > 1)
    throw usageError("usage", `Several are named ${JSON.stringify(unknown[0])} in ${layout.root}.`, {
      hint: `Name one of ${several.map((name) => targetText(targetOfName(name))).join(", ")}.`,
    });
  const { closestTo } = await import("../../lib/support/suggestion.ts");
  const meant = unknown.flatMap((name) => closestTo(name, texts) ?? []);
  const list = texts.length === 0 ? "nothing" : texts.join(", ");
  throw usageError("usage", `${unknown.join(", ")} was never deployed or watched in ${layout.root}.`, {
    hint: meant.length > 0 ? `Did you mean ${meant.join(", ")}?` : `Known there: ${list}.`,
  });
}
