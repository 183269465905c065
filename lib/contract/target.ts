import { usageError } from "./errors.ts";

/** Deployable thing: a project, or a plugin or service of the marketplace. The slug of a project is its id. */
export interface Target {
  kind: "project" | "plugin" | "service";
  slug: string;
}

/**
 * Name of a target in paths and in the journal: `project-<id>`, `plugin-<slug>` or `service-<slug>`
 * (docs/contract/host.md).
 */
export type TargetName = `${Target["kind"]}-${string}`;

const TEXT = /^(plugin|service|project):([A-Za-z0-9][A-Za-z0-9_.-]{0,127})$/;
const NAME = /^(?:project-[A-Za-z0-9][A-Za-z0-9_.-]{0,127}|(?:plugin|service)-[a-z0-9][a-z0-9_.-]{0,127})$/;

/** Reads a target as people write it. @throws UsageError `usage` */
export function parseTarget(text: string): Target {
  const match = TEXT.exec(text);
  if (match === null)
    throw usageError("usage", `TARGET is plugin:SLUG, service:SLUG or project:ID, not ${JSON.stringify(text)}.`, {
      hint: /^[A-Za-z0-9][\w.-]*$/.test(text)
        ? `Say what it is: ${text.startsWith("prj_") ? `project:${text}` : `plugin:${text} or service:${text}`}.`
        : "For example plugin:tide-table.",
    });
  return { kind: match[1] as Target["kind"], slug: match[2]! };
}

/** Formats a target as people write it: `plugin:SLUG`. */
export const targetText = ({ kind, slug }: Target): string => `${kind}:${slug}`;

/** Formats a target's name in paths: `plugin-SLUG`. */
export const targetName = ({ kind, slug }: Target): TargetName => `${kind}-${slug}`;

/** True for a text that may be the name of a target in a path. */
export const isTargetName = (text: unknown): text is TargetName => typeof text === "string" && NAME.test(text);

/** Returns the target that a path names. */
export function targetOfName(name: TargetName): Target {
  const dash = name.indexOf("-");
  return { kind: name.slice(0, dash) as Target["kind"], slug: name.slice(dash + 1) };
}
