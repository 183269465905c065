import type { PermissionRule } from "../../contract/files/descriptor.ts";
import type { ExecutionMode } from "../../contract/surfaces/runtime.ts";

/**
 * The `permissions` of a descriptor. A resource is `kind` or `kind:name` (`database:main`, `cache`, `events:order.*`,
 * `extension:geo`, `plugin:billing`); `.` and `/` after the kind work as well, and so does a plural. `*` stands for any
 * text.
 */

const KINDS: Record<string, string> = {
  database: "database",
  databases: "database",
  cache: "cache",
  event: "events",
  events: "events",
  extension: "extension",
  extensions: "extension",
  plugin: "plugin",
  plugins: "plugin",
};

/** Words of a rule that stand for several actions, by kind of resource. */
const ACTION_GROUPS: Record<string, Record<string, readonly string[]>> = {
  database: { query: ["read"], execute: ["write"] },
  cache: { read: ["get"], write: ["set", "delete"] },
  events: { publish: ["emit"], subscribe: ["listen"] },
};

interface Resource {
  kind: string;
  name: string;
}

function parseResource(text: string): Resource | undefined {
  const [, word = "", name] = /^([a-z]+)(?:[:./](.*))?$/.exec(text) ?? [];
  const kind = KINDS[word];
  return kind === undefined ? undefined : { kind, name: name ?? "*" };
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

const matches = (pattern: string, value: string): boolean =>
  pattern === "*" ||
  (pattern.includes("*")
    ? new RegExp(`^${pattern.split("*").map(escape).join(".*")}$`, "s").test(value)
    : pattern === value);

function coversAction({ actions }: PermissionRule, kind: string, action: string): boolean {
  const groups = ACTION_GROUPS[kind] ?? {};
  return actions.some(
    (word) =>
      matches(word, action) ||
      groups[word]?.includes(action) === true ||
      (word === "call" && (kind === "plugin" || kind === "extension")),
  );
}

/**
 * Tells whether a plugin may do this. A denying rule wins. A sandboxed plugin needs an allowing rule; a trusted one
 * only if its descriptor has rules for that kind of resource at all, because its code is not confined anyway.
 */
export function isPermitted(
  rules: readonly PermissionRule[],
  mode: ExecutionMode,
  target: string,
  action: string,
): boolean {
  const wanted = parseResource(target);
  if (wanted === undefined) return false;
  let allowed = false;
  let mentioned = false;
  for (const rule of rules) {
    const resource = rule.resource === "*" ? { kind: wanted.kind, name: "*" } : parseResource(rule.resource);
    if (resource?.kind !== wanted.kind) continue;
    if (rule.effect === "allow") mentioned = true;
    if (!matches(resource.name, wanted.name) || !coversAction(rule, wanted.kind, action)) continue;
    if (rule.effect === "deny") return false;
    allowed = true;
  }
  return allowed || (mode === "trusted" && !mentioned);
}
