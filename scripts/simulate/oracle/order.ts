/** The contract's order of versions, written anew from docs/contract: nothing is shared with the product. */

/** Published version, as its order needs it. */
export interface Ordered {
  version: string;
  /** Time of publication, in milliseconds since 1970 by the hub's clock. */
  publishedAt: number;
}

interface Parsed {
  numbers: bigint[];
  /** Pre-release identifiers; undefined for a stable version. */
  pre: string[] | undefined;
}

const NUMBER = /^(?:0|[1-9][0-9]*)$/;
const WORDS = /^[0-9A-Za-z-]+$/;
/** Largest number that is compared: a label with a larger one has no order. */
const MOST = 2n ** 53n - 1n;

const known = new Map<string, Parsed | undefined>();

/** Reads a semantic version. @returns undefined for another label */
function parse(label: string): Parsed | undefined {
  if (!known.has(label)) known.set(label, read(label));
  return known.get(label);
}

function read(label: string): Parsed | undefined {
  const plus = label.indexOf("+");
  if (
    plus !== -1 &&
    !label
      .slice(plus + 1)
      .split(".")
      .every((word) => WORDS.test(word))
  )
    return undefined;
  const main = plus === -1 ? label : label.slice(0, plus);
  const dash = main.indexOf("-");
  const core = (dash === -1 ? main : main.slice(0, dash)).split(".");
  if (core.length !== 3 || !core.every((part) => NUMBER.test(part))) return undefined;
  const numbers = core.map(BigInt);
  if (numbers.some((number) => number > MOST)) return undefined;
  if (dash === -1) return { numbers, pre: undefined };
  const pre = main.slice(dash + 1).split(".");
  const isSound = (word: string): boolean => WORDS.test(word) && (NUMBER.test(word) || !/^[0-9]+$/.test(word));
  return pre.every(isSound) ? { numbers, pre } : undefined;
}

function comparePre(a: readonly string[], b: readonly string[]): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const [x, y] = [a[index], b[index]];
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1;
    if (x === y) continue;
    const [isNumberX, isNumberY] = [NUMBER.test(x), NUMBER.test(y)];
    if (isNumberX && isNumberY) return BigInt(x) < BigInt(y) ? -1 : 1;
    if (isNumberX !== isNumberY) return isNumberX ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return 0;
}

function compareParsed(a: Parsed, b: Parsed): number {
  for (const [index, number] of a.numbers.entries())
    if (number !== b.numbers[index]) return number < b.numbers[index]! ? -1 : 1;
  return a.pre === undefined || b.pre === undefined ? 0 : comparePre(a.pre, b.pre);
}

const classOf = (parsed: Parsed | undefined): number => (parsed === undefined ? 0 : parsed.pre === undefined ? 2 : 1);

/** Compares two versions: below 0 when the first one ranks lower. */
export function compare(a: Ordered, b: Ordered): number {
  const [parsedA, parsedB] = [parse(a.version), parse(b.version)];
  const classes = classOf(parsedA) - classOf(parsedB);
  if (classes !== 0) return classes;
  const order = parsedA === undefined || parsedB === undefined ? 0 : compareParsed(parsedA, parsedB);
  if (order !== 0) return order;
  if (a.publishedAt !== b.publishedAt) return a.publishedAt - b.publishedAt;
  return a.version === b.version ? 0 : a.version < b.version ? -1 : 1;
}

/** Tells whether an agent takes a version for a downgrade: both have numbers, and it has the lower ones. */
export function isStepDown(running: string, next: string): boolean {
  const [a, b] = [parse(running), parse(next)];
  if (a === undefined || b === undefined) return false;
  if (compareParsed(b, a) !== 0) return compareParsed(b, a) < 0;
  return b.pre !== undefined && a.pre === undefined;
}
