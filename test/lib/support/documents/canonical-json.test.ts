// Holds: the canonical JSON of signed texts (lib/support/documents/canonical-json.ts)
import { Metadata, MetadataKind, Signature } from "@tufjs/models";
import t from "tap";
import { canonicalJson } from "../../../../lib/support/documents/canonical-json.ts";
import { heldKey, rootChain } from "../../../support/forged/roots.ts";

type Json = Parameters<typeof Metadata.fromJSON>[1];

const made = rootChain().version(1, [heldKey()], { by: [] });

/** Returns the canonical JSON of a value as `@tufjs/models` signs it, in a field that it does not know. */
function asTufSigns(value: unknown): string {
  const { signed } = JSON.parse(made) as { signed: object };
  let found = "";
  Metadata.fromJSON(MetadataKind.Root, { signatures: [], signed: { ...signed, zz: value } } as Json).sign((bytes) => {
    found = bytes.toString();
    return new Signature({ keyID: "", sig: "" });
  });
  return found.replace(/^.*"zz":/s, "").slice(0, -1);
}

const VECTORS: [value: unknown, text: string][] = [
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

for (const [index, [value, text]] of VECTORS.entries())
  t.test(`canonical JSON of vector ${index}`, (t) => {
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
