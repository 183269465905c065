// Holds: which version of a trust root a hub adds, and who follows it (lib/hub/features/trust/publish.ts)
/** A version is left out, with the keys that it would have shown; or the first one a hub gets is a late one. */
import t from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, isErrorBody, startHub } from "../../support/hub/harness.ts";
import { trustAt } from "../../support/hub/trust.ts";

t.test("a hub takes versions one by one, from the first", async (t) => {
  const hub = await startHub(t);
  const { publish, list, show } = trustAt(hub);
  const { id } = await createProject(hub);
  const chain = rootChain();
  const version = (number: number): string => chain.version(number, [heldKey()]);
  for (const number of [2, 3, 2 ** 31 - 1])
    isErrorBody(t, await publish(version(number), [id]), 422, "trust_root_order");
  t.strictSame((await list()).body.items, []);
  t.equal((await publish(version(1), [id])).status, 201);
  for (const number of [3, 4, 2 ** 31 - 1]) isErrorBody(t, await publish(version(number)), 422, "trust_root_order");
  t.match((await show(chain.id)).body, { version: 1 });
});
