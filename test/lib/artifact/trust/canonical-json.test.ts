// Holds: the canonical JSON of trust roots (lib/artifact/trust/canonical-json.ts)
import { Metadata, Root, Signature } from "@tufjs/models";
import t from "tap";
import { canonicalJson } from "../../../../lib/artifact/trust/canonical-json.ts";

type JSONValue = NonNullable<ConstructorParameters<typeof Root>[0]["unrecognizedFields"]>[string];

/** Returns the canonical JSON of a value as `@tufjs/models` signs it. */
function asTufSigns(value: JSONValue): string {
  let signed = "";
  new Metadata(
    new Root({ consistentSnapshot: true, expires: "2036-01-01T00:00:00Z", unrecognizedFields: { zz: value } }),
  ).sign((bytes) => {
    signed = bytes.toString();
    return new Signature({ keyID: "", sig: "" });
  });
  return signed.replace(/^.*"zz":/s, "").slice(0, -1);
}

const VECTORS: [value: JSONValue, text: string][] = [
  [{}, "{}"],
  [[], "[]"],
  [{ b: 1, a: [true, false, null] }, '{"a":[true,false,null],"b":1}'],
  [{ a: { z: 0, y: -7 }, "": "" }, '{"":"","a":{"y":-7,"z":0}}'],
  // Only quotes and backslashes are escaped: a line break stands as it is.
  ['a"b\\c', '"a\\"b\\\\c"'],
  ["line\nbreak\ttab\u0000\u007f", '"line\nbreak\ttab\u0000\u007f"'],
  ["ü ✓ 🚢 \u2028", '"ü ✓ 🚢 \u2028"'],
  // Keys are sorted by UTF-16 code units, not by a language.
  [{ ä: 1, b: 2, B: 3, "10": 4, "9": 5 }, '{"10":4,"9":5,"B":3,"b":2,"ä":1}'],
  [Number.MAX_SAFE_INTEGER, "9007199254740991"],
  [-0, "0"],
];

for (const [value, text] of VECTORS)
  t.test(`canonical JSON of ${JSON.stringify(value)}`, (t) => {
    t.equal(canonicalJson(value), text);
    t.equal(asTufSigns(value), text, "as @tufjs/models signs it");
    t.end();
  });

t.test("what readers take differently has no canonical form", (t) => {
  for (const value of [0.5, 1e21, 2 ** 53, Number.NaN, Infinity])
    t.throws(() => canonicalJson({ a: [value] }), { name: "SyntaxError", message: /not a whole number/ });
  t.throws(() => canonicalJson("\ud800"), { name: "SyntaxError", message: /half of a character/ });
  t.throws(() => canonicalJson({ "\udc00": 1 }), { name: "SyntaxError" });
  t.throws(() => canonicalJson(JSON.parse('{"a":{"__proto__":1}}')), { message: /__proto__/ });
  t.end();
});
