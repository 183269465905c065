// Only in test:all: documents as large as they may be.
import t from "tap";
import * as z from "zod";
import { excessOfJson, excessOfYaml, parseJson, SMALL_YAML } from "../../../../lib/support/documents/limits.ts";
import { parseYamlText } from "../../../../lib/support/documents/parse-yaml.ts";
import { parseOnThread } from "../../../../lib/support/documents/yaml-thread.ts";
import { parseForeignYaml } from "../../../../lib/support/yaml-file.ts";

const steps = (count: number): string =>
  Array.from(
    { length: count },
    (_, index) => `  - id: step-${index}\n    action: prepare\n    depends_on: [a, b]\n`,
  ).join("");

t.test("documents as people write them are within the limits", async (t) => {
  t.equal(excessOfYaml(`steps:\n${steps(1_000)}`), undefined);
  t.equal(excessOfYaml("a: |\n  {{{ text [[[ of a template\nb: '*not & a ! mark'\nc: what? yes ?\n"), undefined);
  const { value } = (await parseForeignYaml(`steps:\n${steps(1_000)}`, z.looseObject({}), "plan").then((parsed) => ({
    value: parsed,
  }))) as { value: { steps: unknown[] } };
  t.equal(value.steps.length, 1_000);
  t.ok(excessOfYaml(`steps:\n${steps(1_000)}`, SMALL_YAML) !== undefined, "a thread has parsed it");
});

t.test("a text within strings is not counted as JSON", async (t) => {
  t.equal(excessOfJson(JSON.stringify({ a: "[".repeat(1_000), b: '"\\[[[['.repeat(100) })), undefined);
  t.strictSame(parseJson('{"a":[1,{"b":"]"}]}'), { a: [1, { b: "]" }] });
  t.throws(() => parseJson("[".repeat(65) + "]".repeat(65)), SyntaxError);
  t.throws(() => parseJson(`[${"1,".repeat(200_001)}1]`), SyntaxError);
  t.throws(() => parseJson(`"${"x".repeat(5_000_000)}"`), SyntaxError);
});

t.test("whatever is small is parsed quickly", async (t) => {
  const hostile = [
    "[",
    "{",
    "- ",
    "a: ",
    "&a ",
    "*a ",
    "!t ",
    '"',
    "'",
    "|",
    ">",
    "#",
    "\n",
    " ",
    "\t",
    ":",
    ",",
    "%",
    "@",
    "---\n",
    "a: [",
    "- [",
    "x: [}\n",
    "- &a\n",
    "- !t 1\n",
  ];
  for (const piece of hostile) {
    const text = piece.repeat(Math.floor((64 * 1024) / piece.length));
    if (excessOfYaml(text, SMALL_YAML) !== undefined) continue;
    const start = process.cpuUsage();
    parseYamlText(text);
    const { user } = process.cpuUsage(start);
    t.ok(user < 2_000_000, `${JSON.stringify(piece)}: ${user} µs`);
  }
});

t.test("a thread that takes too long, or too much memory, is a fault of the document", async (t) => {
  t.match(await parseOnThread(Array.from({ length: 80_000 }, (_, key) => `k${key}: 1`).join("\n"), 300), {
    faults: [/longer than 0\.3 s/],
  });
  t.match(await parseOnThread("[".repeat(3_000_000), 60_000), { faults: [/memory|exceed|stack/i] });
  t.match(await parseOnThread("a: 1"), { value: { a: 1 } });
});
