// Holds: which version of a trust root a hub adds, and who follows it (lib/hub/features/trust/publish.ts)
/** A root of another id is to take the place of the one that hosts follow. */
import t from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, isErrorBody, startHub } from "../../support/hub/harness.ts";
import { trustAt } from "../../support/hub/trust.ts";

t.test("a root goes on under its own id alone, and a target changes to no other one", async (t) => {
  const hub = await startHub(t);
  const { publish, show, list } = trustAt(hub);
  const { id } = await createProject(hub);
  const [chain, other] = [rootChain(), rootChain()];
  await publish(chain.version(1, [heldKey()]), [id]);
  const { holders } = chain;
  const renamed = { holders, by: holders.slice(0, 2) };
  isErrorBody(t, await publish(other.version(2, [heldKey()], renamed), [id]), 422, "trust_root_order");
  isErrorBody(t, await publish(other.version(1, [heldKey()], renamed), [id]), 409, "conflict");
  t.match((await list()).body.items, [{ id: chain.id, version: 1, targets: [id] }]);
  t.equal((await publish(other.version(1, [heldKey()]))).status, 201, "one that nobody follows is no harm");
  for (const [version, status, code] of [
    [1, 409, "trust_root_forked"],
    [2, 422, "trust_root_undersigned"],
  ] as const)
    isErrorBody(t, await publish(other.version(version, [heldKey()], { id: chain.id })), status, code);
  t.match((await show(chain.id)).body, { version: 1, targets: [id] });
});
