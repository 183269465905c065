import t from "tap";
import { emptyColumns, fullHub } from "../../../support/hub/full-hub.ts";

t.test("the full hub of the tests has a value in every column of every table", async (t) => {
  const { hub } = await fullHub(t, `${t.testdir({})}/hub`);
  t.strictSame(emptyColumns(hub.dataDir), [], "test/support/hub/full-hub.ts fills these");
});
