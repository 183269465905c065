// Holds: a document names no key twice (lib/support/documents/signed-json.ts)
import { performance } from "node:perf_hooks";
import t from "tap";
import { parseHeader } from "../../../lib/artifact/delta/delta-lines.ts";
import { readManifest } from "../../../lib/artifact/project/open.ts";
import { JSON_LIMITS } from "../../../lib/support/documents/limits.ts";
import { parseSignedJson } from "../../../lib/support/documents/signed-json.ts";

t.test("a key that stands twice in one object is refused wherever it is, and however it is written", async (t) => {
  for (const text of [
    '{"version":"1","version":"2"}',
    '{"version":"1","\\u0076ersion":"2"}',
    '{"a":[{"b":{"c":1,"d":[],"c":2}}]}',
    '{"a\\"":1 , "a\\"" : 1}',
    '[{"":0},{"":0,"":0}]',
    '{"__proto__":1,"__proto__":2}',
  ])
    t.throws(() => parseSignedJson(text), { name: "SyntaxError", message: /stands there twice$/ }, text);
  for (const text of [
    '{"a":{"a":{"a":["a","a",{"a":"a"}]}},"b":"a"}',
    '[{"a":1},{"a":1}]',
    '{"a":"\\"b\\":1,","b":"{\\"b\\":","c":"}"}',
    '"a"',
  ])
    t.same(parseSignedJson(text), JSON.parse(text), text);
  t.throws(() => parseSignedJson('{"a":1'), SyntaxError);
});

t.test("documents of the largest size are read", async (t) => {
  const large = JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`"key"-${at}`, {}])));
  const before = performance.now();
  parseSignedJson(large, JSON_LIMITS);
  t.comment(`${large.length} bytes in ${Math.round(performance.now() - before)} ms`);
  t.throws(() => parseSignedJson(`{"x":"${"\\\\".repeat(1_900_000)}","x":0}`), /"x" stands there twice/);
});

t.test("a manifest with its version twice is refused, and so is a delta's first line", async (t) => {
  const staging = t.testdir({ "manifest.json": '{"format_version":"1","version":"1.0.0","version":"2.0.0"}' });
  await t.rejects(readManifest(staging), { code: "manifest_invalid", message: /the key "version" stands there twice/ });
  t.throws(() => parseHeader('{"project_id":"a","project_id":"b"}'), { code: "delta_invalid", message: /twice/ });
});
