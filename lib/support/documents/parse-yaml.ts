import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import { cutFaults, type Path } from "./faults.ts";

/** YAML document as values, with their places. */
export interface ParsedYaml {
  value: unknown;
  /**
   * Returns ` (line N)` for the value at a path, or for its nearest parent; empty without either, or if a thread has
   * parsed it.
   */
  lineOf: (path: Path) => string;
}

export type Parsed = ParsedYaml | { faults: string[] };

/** Parses YAML 1.2. Aliases are limited; duplicate keys, unknown tags and loops are faults. Never throws. */
export function parseYamlText(text: string): Parsed {
  try {
    const lines = new LineCounter();
    // The library's own check for duplicate keys is quadratic.
    const options = {
      lineCounter: lines,
      prettyErrors: false,
      version: "1.2",
      schema: "core",
      uniqueKeys: false,
      logLevel: "error",
    } as const;
    const document = parseDocument(text, options);
    const at = (offset: number): string => {
      const { line, col } = lines.linePos(offset);
      return `line ${line}, column ${col}`;
    };
    const problems = [...document.errors, ...document.warnings];
    const faults = cutFaults(problems, (error) => `${at(error.pos[0])}: ${error.message}`);
    if (faults.length === 0) faults.push(...structuralFaults(document, at));
    if (/^%YAML\b.*\n(?:[%#].*\n|\s*\n)*%YAML\b/m.test(text.split(/^---/m, 1)[0]!))
      faults.push("The directive %YAML stands there twice");
    if (faults.length > 0) return { faults };
    const lineOf = (path: Path): string => {
      const offset = offsetOf(document.contents, path);
      return offset === undefined ? "" : ` (line ${lines.linePos(offset).line})`;
    };
    return { value: document.toJS({ maxAliasCount: 100 }), lineOf };
  } catch (error) {
    return { faults: cutFaults([error as Error], ({ message }) => message) };
  }
}

/** Returns the offset of the key or item at a path, or of its nearest existing parent. */
function offsetOf(node: unknown, path: Path): number | undefined {
  const [first, ...rest] = path;
  if (first !== undefined && isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && key.value === first);
    if (pair !== undefined) {
      const at = isScalar(pair.key) ? pair.key.range?.[0] : undefined;
      return rest.length === 0 ? at : (offsetOf(pair.value, rest) ?? at);
    }
  } else if (first !== undefined && isSeq(node)) {
    const item = node.items[Number(first)];
    if (item !== undefined) return offsetOf(item, rest);
  }
  return isNode(node) ? node.range?.[0] : undefined;
}

/** Matches numbers that people read in another way than YAML does: `0x10`, `0o17`, and `010`, which is ten. */
const ODD_NUMBER = /^[+-]?0[xo\d]/;

/**
 * Finds duplicate keys, and aliases within the node that they refer to. Keeps odd numbers as the
 * texts that they are, so that no schema takes them for numbers.
 */
function structuralFaults(document: Document, at: (offset: number) => string): string[] {
  const faults: string[] = [];
  visit(document, {
    Map(_key, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const value = isScalar(key) ? key.value : undefined;
        if (isScalar(key) && seen.has(value)) faults.push(`${at(key.range?.[0] ?? 0)}: Map keys must be unique`);
        seen.add(value);
      }
    },
    Scalar(_key, scalar) {
      if (typeof scalar.value === "number" && ODD_NUMBER.test(scalar.source ?? "")) scalar.value = scalar.source;
    },
    Alias(_key, alias, path) {
      const within = path.some((node) => isNode(node) && !isAlias(node) && node.anchor === alias.source);
      if (within) faults.push(`${at(alias.range?.[0] ?? 0)}: The alias ${alias.source} stands within its own anchor`);
    },
  });
  return cutFaults(faults, (fault) => fault);
}
