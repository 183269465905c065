import type { Random } from "./random.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Texts that some parser takes for something else. */
const TEXTS = [
  ...["", "a", "plain words", "true", "no", "null", "~", "1e3", "0x1f", "0o17", "-1", ".inf", "1:30", "2026-01-01"],
  ...[
    "<<",
    "*a",
    "&b",
    "!!str x",
    "- x",
    "? x",
    "key: value",
    "# no comment",
    " lead",
    "trail ",
    "'",
    '"',
    "\\",
    "[",
    "}",
  ],
  ...["a\nb", "a\n\nb", "tab\there", "\u2028", "\u00e9", "\u{1f600}", "\u0007", "__proto__", "constructor", "toString"],
];

/** Keys that careless code takes for its own. */
const KEYS = [
  "id",
  "version",
  "status",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "then",
  "length",
];

/** Makes any JSON value, at most `depth` levels deep. */
export function someValue(random: Random, depth = 4): Json {
  switch (random.below(depth > 0 ? 8 : 5)) {
    case 0:
      return null;
    case 1:
      return random.once(2);
    case 2:
      return random.pick([0, -1, 1.5, 1e21, random.below(1_000_000), Number.MAX_SAFE_INTEGER]);
    case 3:
    case 4:
      return random.pick(TEXTS);
    case 5:
      return Array.from({ length: random.below(4) }, () => someValue(random, depth - 1));
    default:
      return someObject(random, depth - 1);
  }
}

/** Makes any JSON object. All keys are its own members, whatever their names. */
export function someObject(random: Random, depth = 3): { [key: string]: Json } {
  const object: { [key: string]: Json } = {};
  for (let members = random.below(5); members > 0; members--)
    setOwn(object, random.once(3) ? random.pick(KEYS) : random.pick(TEXTS), someValue(random, depth));
  return object;
}

/** Sets an own member, even one that is called `__proto__`. */
export function setOwn(object: { [key: string]: Json }, key: string, value: Json): void {
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Returns why a parsed value is not plain data: it holds functions, foreign prototypes, or more than it may. */
export function notPlain(value: unknown, maxValues = 500_000): string | undefined {
  let values = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (++values > maxValues) return `it has more than ${maxValues} values`;
    if (typeof next === "function" || typeof next === "symbol") return `it holds a ${typeof next}`;
    if (typeof next !== "object" || next === null) continue;
    const prototype: unknown = Object.getPrototypeOf(next);
    if (!Array.isArray(next) && prototype !== Object.prototype && prototype !== null)
      return "it has a foreign prototype";
    waiting.push(...(Object.values(next) as unknown[]));
  }
  const polluted = Object.keys(Object.prototype);
  return polluted.length > 0 ? `every object has got ${polluted.join(", ")}` : undefined;
}
