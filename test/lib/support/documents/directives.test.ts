import t from "tap";
import { manifest } from "../../../../lib/contract/files/manifest.ts";
import { parseYamlText } from "../../../../lib/support/documents/parse-yaml.ts";

t.test("the directive %YAML stands there once", (t) => {
  t.match(parseYamlText("%YAML 1.2\n---\na: 1\n"), { value: { a: 1 } });
  t.match(parseYamlText("%YAML 1.2\n%YAML 1.2\n---\na: 1\n"), { faults: [/%YAML stands there twice/] }, "SF5V");
  t.match(parseYamlText("%YAML 1.2\n# a comment\n%YAML 1.2\n---\n"), { faults: [/twice/] });
  t.end();
});

t.test("built_at of a manifest is in UTC", (t) => {
  const { built_at: builtAt } = manifest.shape;
  t.ok(builtAt.safeParse("2026-11-27T14:00:00.000Z").success);
  t.notOk(builtAt.safeParse("2026-11-27T14:00:00+02:00").success);
  t.end();
});
