import satisfies from "semver/functions/satisfies.js";
import valid from "semver/functions/valid.js";
import validRange from "semver/ranges/valid.js";

/** Search for components: by name or package URL, and by version. */
export interface ComponentQuery {
  /** Name from the bill of materials, with its group: `@babel/core`. Undefined where a package URL is given. */
  name: string | undefined;
  /** Package URL without version, qualifiers and subpath, as {@link packageOf} returns it. */
  package: string | undefined;
  /** Range, version, or prefix of one followed by `*`; `*` for every version. */
  range: string;
}

/** Types of package URLs with semantic versions, for which ranges are meaningful. */
const SEMANTIC: ReadonlySet<string> = new Set([
  ...["cargo", "composer", "elm", "golang", "hex", "npm", "nuget", "pub", "swift", "vscode-extension"],
]);

/** Returns a package URL without version, qualifiers and subpath, decoded; empty for any other text. */
export function packageOf(purl: string): string {
  const match = /^pkg:\/*([A-Za-z][A-Za-z0-9.+-]*)\/([^?#]+)/.exec(purl);
  if (match === null) return "";
  const [, type, path] = match as unknown as [string, string, string];
  // An unencoded @ of a scope is before the last slash, or begins the name.
  const at = path.lastIndexOf("@");
  const isVersion = at > path.lastIndexOf("/") + 1 || (at > 0 && !path.slice(at).includes("/") && path[at - 1] !== "/");
  const named = isVersion ? path.slice(0, at) : path;
  try {
    return `pkg:${type.toLowerCase()}/${decodeURIComponent(named)}`;
  } catch {
    return `pkg:${type.toLowerCase()}/${named}`;
  }
}

/** Reads `NAME`, `NAME@RANGE` or a package URL with either. Undefined for a text that names nothing. */
export function componentQuery(text: string): ComponentQuery | undefined {
  const trimmed = text.trim();
  const at = trimmed.lastIndexOf("@");
  const hasRange = at > 0 && trimmed[at - 1] !== "/";
  const named = hasRange ? trimmed.slice(0, at) : trimmed;
  const range = (hasRange ? trimmed.slice(at + 1).trim() : "") || "*";
  if (named === "") return undefined;
  if (!named.startsWith("pkg:")) return { name: named, package: undefined, range };
  const found = packageOf(named);
  return found === "" ? undefined : { name: undefined, package: found, range };
}

/** Component, as far as searches compare it. */
export interface ComparedComponent {
  version: string;
  purl: string;
}

/** Matches operators that need an order of versions, which not every type has. */
const ORDERS = /[<>^~|]|\s-\s|\d\s+\d/;

/**
 * Decides whether a component's version is in a range.
 *
 * @returns undefined where the range needs an order and none is known for the component's type: such versions are
 *   compared as text only, whole or by a prefix (`2.14.*`)
 */
export function isInRange({ version, purl }: ComparedComponent, range: string): boolean | undefined {
  if (range === "*") return true;
  const type = /^pkg:\/*([^/]+)\//.exec(purl)?.[1]?.toLowerCase();
  const isSemantic = (type === undefined || SEMANTIC.has(type)) && valid(version) !== null;
  if (isSemantic && validRange(range) !== null) return satisfies(version, range, { includePrerelease: true });
  const text = range.replace(/^=\s*/, "");
  if (ORDERS.test(text)) return undefined;
  return text.endsWith("*") ? version.startsWith(text.slice(0, -1)) : version === text;
}
