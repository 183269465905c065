import { setImmediate as turn } from "node:timers/promises";
import t from "tap";
import { UploadTurns } from "../../../../lib/hub/publications/upload-turns.ts";

t.test("uploads that come at once share each turn of the event loop, and others come between", async (t) => {
  const turns = new UploadTurns(100);
  const done: string[] = [];
  const upload = async (name: string): Promise<void> => {
    for (let chunk = 1; chunk <= 8; chunk++) {
      done.push(`${name}${chunk}`);
      await turns.take(60);
    }
  };
  const uploads = Promise.all([upload("a"), upload("b"), upload("c")]);
  let isOver = false;
  void uploads.then(() => (isOver = true));
  const perTurn: number[] = [];
  for (let before = 0; !isOver; before = done.length) {
    await turn();
    perTurn.push(done.length - before);
  }
  t.equal(done.length, 24);
  t.ok(
    perTurn.length > 3 && perTurn.slice(1).every((count) => count <= 4),
    `no later turn takes more than twice its bytes: ${perTurn.join()}`,
  );
  t.strictSame(
    ["a8", "b8", "c8"].map((last) => done.indexOf(last) > 18),
    [true, true, true],
    "each has its share",
  );
});

t.test("an upload alone waits for nothing until a turn is full", async (t) => {
  const turns = new UploadTurns(100);
  t.equal(turns.take(60), undefined);
  const wait = turns.take(60);
  t.type(wait, Promise);
  await wait;
  t.equal(turns.take(60), undefined, "the next turn has room again");
});
