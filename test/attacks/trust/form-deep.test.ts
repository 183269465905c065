/** A trust root that is deeper, or of more values, than any that a person made. */
import t from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

t.test("depth and number of values are bounded before the document is parsed", async (t) => {
  const hub = await startHub(t);
  const { id } = await createProject(hub);
  const text = rootChain().version(1, [heldKey()]);
  for (const [what, filling] of [
    ["lists in lists", "[".repeat(30_000) + "]".repeat(30_000)],
    ["objects in objects", '{"a":'.repeat(6000) + "1" + "}".repeat(6000)],
    ["many values", `[${"1,".repeat(30_000)}1]`],
    ["lists that never end", "[".repeat(60_000)],
  ] as const)
    await isRefusedRoot(t, hub, id, text.replace('"signed":{', `"signed":{"x":${filling},`), what);
});
