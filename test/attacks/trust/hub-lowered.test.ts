// Holds: which version of a trust root a hub adds, and who follows it (lib/hub/features/trust/publish.ts)
/** Somebody publishes an old version again, which named a signer that is stolen by now. */
import t from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, isErrorBody, newSigner, publication, startHub } from "../../support/hub/harness.ts";
import { trustAt } from "../../support/hub/trust.ts";

t.test("an old version changes nothing: not what hosts are told, nor the register, nor for a new target", async (t) => {
  const hub = await startHub(t);
  const { publish, show, signers } = trustAt(hub);
  const [first, late] = [await createProject(hub), await createProject(hub)];
  const chain = rootChain();
  const [stolen, next] = [heldKey(), heldKey()];
  const old = chain.version(1, [stolen]);
  await publish(old, [first.id]);
  await publish(chain.version(2, [next]));
  const before = [(await show(chain.id)).body, await signers(first.id)];
  t.equal((await publish(old, [first.id])).status, 200);
  t.strictSame([(await show(chain.id)).body, await signers(first.id)], before);
  isErrorBody(t, await publish(chain.version(1, [stolen, next])), 409, "trust_root_forked");
  t.match(await publish(old, [late.id]), { status: 200, body: { version: 2 } });
  t.match(await signers(late.id), [{ public_key: next.hex, state: "active" }], "a new target follows the newest");
  isErrorBody(t, await late.publish(publication("1.0.0", { signer: newSigner() })), 403, "signer_refused");
});
