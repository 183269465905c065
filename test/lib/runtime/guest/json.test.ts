import fc from "fast-check";
import t from "tap";
import { cleanJson, parseJson, serialiseResult } from "../../../../lib/runtime/guest/json.ts";

t.test("parsed JSON has no key that pollutes, and is otherwise what was written", (t) => {
  const polluting = fc.letrec((tie) => ({
    value: fc.oneof(fc.string(), fc.integer(), fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("value"), { maxLength: 3 }),
    object: fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "prototype")),
      tie("value"),
      { maxKeys: 4 },
    ),
  })).value;
  const isClean = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return true;
    if (Object.hasOwn(value, "__proto__")) return false;
    const { constructor } = value as { constructor: unknown };
    if (
      Object.hasOwn(value, "constructor") &&
      typeof constructor === "object" &&
      constructor !== null &&
      Object.hasOwn(constructor, "prototype")
    )
      return false;
    return Object.values(value).every(isClean);
  };
  fc.assert(fc.property(polluting, (value) => isClean(parseJson(JSON.stringify(value)))));
  fc.assert(
    fc.property(
      fc.jsonValue({ noUnicodeString: false }),
      (value) =>
        JSON.stringify(JSON.parse(cleanJson(JSON.stringify(value)))) ===
        JSON.stringify(parseJson(JSON.stringify(value))),
    ),
  );
  t.throws(() => cleanJson('1,"status":"forged"'), SyntaxError);
  t.throws(() => serialiseResult(Symbol("x")), { code: "result_not_serialisable" });
  t.throws(() => serialiseResult("é".repeat(5_000_000)), { code: "result_too_large" });
  t.end();
});
