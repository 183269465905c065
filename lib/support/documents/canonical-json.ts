/**
 * Returns a value as canonical JSON, the bytes that TUF metadata is signed over: keys sorted, no whitespace, whole
 * numbers only, and of the characters in a text only `"` and `\` escaped.
 *
 * @param value of JSON: objects, lists, texts, whole numbers, booleans and null
 * @throws SyntaxError for another number, a lone surrogate, or a key `__proto__`, all of which readers take differently
 * @see https://wiki.laptop.org/go/Canonical_JSON
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return canonicalText(value);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new SyntaxError(`the number ${value} is not a whole number below 2^53`);
    return String(value);
  }
  if (typeof value === "boolean" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.keys(value as object)
    .toSorted()
    .map((key) => {
      if (key === "__proto__") throw new SyntaxError("there is a key __proto__");
      return `${canonicalText(key)}:${canonicalJson((value as Record<string, unknown>)[key])}`;
    });
  return `{${members.join(",")}}`;
}

function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new SyntaxError("a text holds half of a character");
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
