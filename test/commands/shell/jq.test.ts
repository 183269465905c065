import { setImmediate as nextTurn } from "node:timers/promises";
import t from "tap";
import { JqWriter } from "../../../commands/shell/output/jq.ts";

async function jq(expression: string, records: readonly object[]): Promise<string> {
  let printed = "";
  const writer = await JqWriter.open(expression, (text) => (printed += text));
  for (const record of records) writer.add(JSON.stringify(record));
  writer.close();
  return printed;
}

t.test("each record goes through the expression, and texts are printed bare", async (t) => {
  const hosts = [
    { host_id: "tromsø", version: "1.0.0" },
    { host_id: "b", version: "2.0.0", tags: [1] },
  ];
  t.equal(await jq(".host_id", hosts), "tromsø\nb\n");
  t.equal(await jq('select(.version == "2.0.0") | {host_id, tags}', hosts), '{"host_id":"b","tags":[1]}\n');
  t.equal(await jq("[.host_id, .version] | @csv", hosts), '"tromsø","1.0.0"\n"b","2.0.0"\n');
  t.equal(await jq("empty", hosts), "");
  t.equal(await jq(".", []), "");
});

t.test("many records come out in order, and all of them", async (t) => {
  const many = Array.from({ length: 5000 }, (_, index) => ({ index, text: "x".repeat(200) }));
  t.equal(await jq(".index", many), many.map(({ index }) => `${index}\n`).join(""));
});

t.test("a record is printed at the next turn, before the program ends", async (t) => {
  let printed = "";
  const writer = await JqWriter.open(".a", (text) => (printed += text));
  writer.add('{"a":1}');
  await nextTurn();
  await nextTurn();
  t.equal(printed, "1\n");
  writer.close();
});

t.test("an expression that is none is refused at once, one that fails when it fails", async (t) => {
  await t.rejects(
    JqWriter.open(".a |", () => {}),
    { code: "usage", message: /^--jq: syntax error/ },
  );
  await t.rejects(jq(".a.b", [{ a: 1 }]), { code: "usage", message: /^--jq: Cannot index number with string "b"/ });
  const writer = await JqWriter.open(".a.b", () => {});
  writer.add('{"a":1}');
  await nextTurn();
  await nextTurn();
  t.throws(() => writer.close(), { code: "usage" }, "also when it failed meanwhile");
});
