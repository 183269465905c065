import t from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { emptyColumns, fullHub } from "../../../support/hub/full-hub.ts";

/** Columns that only a feature fills that holds versions, or lets them roll. */
const OF_HELD_VERSIONS = ["projects.gate", "versions.state_rollout", "versions.state_reason"];

t.test("the full hub of the tests has a value in every column of every table", async (t) => {
  const { hub } = await fullHub(t, `${t.testdir({})}/hub`);
  const empty = FEATURES.some((feature) => "onTarget" in feature) ? [] : OF_HELD_VERSIONS;
  t.strictSame(emptyColumns(hub.dataDir), empty, "test/support/hub/full-hub.ts fills these");
});
