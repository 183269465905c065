/** Limits of a document written by somebody else, checked in one pass over its text before parsing. */
export interface DocumentLimits {
  /** Bytes of its UTF-8. */
  maxBytes: number;
  /** Most brackets open at once; in YAML also consecutive `- `, `? ` and `: ` on one line. */
  maxDepth: number;
  /** Most lines, items, keys and values, counted generously: by the characters that can begin one. */
  maxNodes: number;
  /** Most anchors, aliases and tags of YAML. */
  maxMarks: number;
}

const MIB = 1024 * 1024;

/** Limits for YAML. A plan of 1,000 steps has about 8,000 nodes. */
export const YAML_LIMITS: Readonly<DocumentLimits> = { maxBytes: MIB, maxDepth: 64, maxNodes: 20_000, maxMarks: 500 };

/** Limits within which any YAML takes a few milliseconds: starting a thread would take longer. */
export const SMALL_YAML: Readonly<DocumentLimits> = {
  maxBytes: 64 * 1024,
  maxDepth: 16,
  maxNodes: 2_000,
  maxMarks: 50,
};

/** Limits for JSON from a hub or artifact: a manifest of 10,000 plugins has 2 MB and 120,000 values. */
export const JSON_LIMITS: Readonly<DocumentLimits> = {
  maxBytes: 4 * MIB,
  maxDepth: 64,
  maxNodes: 200_000,
  maxMarks: Infinity,
};

const code = (character: string): number => character.charCodeAt(0);
const [QUOTE, BACKSLASH, COMMA, COLON, NEWLINE] = ['"', "\\", ",", ":", "\n"].map(code) as [
  number,
  number,
  number,
  number,
  number,
];
const [OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP] = ["[", "]", "{", "}"].map(code) as [number, number, number, number];

function tooMuch(
  bytes: number,
  depth: number,
  nodes: number,
  marks: number,
  limits: DocumentLimits,
): string | undefined {
  if (bytes > limits.maxBytes) return `it is larger than ${limits.maxBytes} bytes`;
  if (depth > limits.maxDepth) return `it is more than ${limits.maxDepth} levels deep`;
  if (nodes > limits.maxNodes) return `it has more than ${limits.maxNodes} values`;
  return marks > limits.maxMarks ? `it has more than ${limits.maxMarks} anchors, aliases and tags` : undefined;
}

/** Returns which limit a JSON text exceeds, or undefined. Linear in its length. */
export function excessOfJson(text: string, limits: DocumentLimits = JSON_LIMITS): string | undefined {
  const bytes = Buffer.byteLength(text);
  let depth = 0;
  let deepest = 0;
  let nodes = 1;
  for (let i = 0; i < text.length && bytes <= limits.maxBytes; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      for (i++; i < text.length && text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++;
    } else if (c === OPEN_LIST || c === OPEN_MAP) {
      deepest = Math.max(deepest, ++depth);
      nodes++;
    } else if (c === CLOSE_LIST || c === CLOSE_MAP) depth--;
    else if (c === COMMA || c === COLON) nodes++;
  }
  return tooMuch(bytes, deepest, nodes, 0, limits);
}

/** Matches an anchor, alias or tag, where one can begin. */
const MARK = /(?<=^|[\s,[{:?-])[&*!](?=\S)/gm;
/** Matches consecutive beginnings of collections on one line. */
const STACKED = /(?:[-?:][ \t]+){4,}/g;
/** Matches keys that may be collections, where one can begin. The parser's time doubles with each level of them. */
const COMPLEX_KEY = /(?:^[ \t]*|[,[{?:-][ \t]*)\?(?=\s)/gm;
const MAX_COMPLEX_KEYS = 8;

const countOf = (text: string, pattern: RegExp): number => {
  let count = 0;
  for (const _ of text.matchAll(pattern)) count++;
  return count;
};

/** Returns which limit a YAML text exceeds, or undefined. Linear in its length. */
export function excessOfYaml(text: string, limits: DocumentLimits = YAML_LIMITS): string | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.maxBytes) return tooMuch(bytes, 0, 0, 0, limits);
  let depth = 0;
  let deepest = 0;
  let nodes = 1;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === OPEN_LIST || c === OPEN_MAP) {
      deepest = Math.max(deepest, ++depth);
      nodes++;
    } else if (c === CLOSE_LIST || c === CLOSE_MAP) depth = Math.max(0, depth - 1);
    else if (c === COMMA || c === NEWLINE) nodes++;
  }
  for (const [stacked] of text.matchAll(STACKED)) deepest = Math.max(deepest, stacked.split(/[ \t]+/).length - 1);
  if (countOf(text, COMPLEX_KEY) > MAX_COMPLEX_KEYS)
    return `it has more than ${MAX_COMPLEX_KEYS} keys that may be lists or maps`;
  return tooMuch(bytes, deepest, nodes, countOf(text, MARK), limits);
}

/**
 * Parses JSON written by somebody else, within limits.
 *
 * @throws SyntaxError for a text that is not JSON or exceeds a limit
 */
export function parseJson(text: string, limits: DocumentLimits = JSON_LIMITS): unknown {
  const excess = excessOfJson(text, limits);
  if (excess !== undefined) throw new SyntaxError(excess);
  return JSON.parse(text);
}
