// Holds: which version of a trust root a hub adds, and who follows it (lib/hub/features/trust/publish.ts)
/** Somebody with the hub's key, every signer and too few root keys makes the next version. */
import t from "tap";
import { heldKey, rootChain, type RootPlan } from "../../support/forged/roots.ts";
import { createProject, isErrorBody, startHub } from "../../support/hub/harness.ts";
import { trustAt } from "../../support/hub/trust.ts";

t.test("the next version has enough signatures by the keys before, and by its own", async (t) => {
  const hub = await startHub(t);
  const { publish, show } = trustAt(hub);
  const { id } = await createProject(hub);
  const chain = rootChain();
  const [ada, grace, mary] = chain.holders as [
    (typeof chain.holders)[0],
    (typeof chain.holders)[0],
    (typeof chain.holders)[0],
  ];
  const [signer, thief, second] = [heldKey(), heldKey(), heldKey()];
  const unsigned = await publish(chain.version(1, [signer], { by: [ada] }), [id]);
  isErrorBody(t, unsigned, 422, "trust_root_undersigned");
  await publish(chain.version(1, [signer]), [id]);
  const forged: Record<string, Partial<RootPlan>> = {
    "nobody's": { by: [] },
    "one holder's": { by: [ada] },
    "one holder's and the signer's": { by: [ada, signer] },
    "the thief's own": { holders: [thief, second], by: [thief, second], threshold: 2 },
    "the thief's own, with one holder": { holders: [thief, ada], by: [thief, ada], threshold: 2 },
    "a lower threshold, by one": { threshold: 1, by: [ada] },
    "enough before, too few of its own": { holders: [thief, second], by: [ada, grace], threshold: 1 },
    "one holder's, under another's id too": { by: [ada, { ...ada, id: grace.id }] },
    "signatures of another version": {},
  };
  for (const [what, more] of Object.entries(forged)) {
    let text = chain.version(2, [thief], more);
    if (what.startsWith("signatures"))
      text = text.replace('"version":2', '"version":2 ').replace(thief.hex, heldKey().hex);
    isErrorBody(t, await publish(text), 422, "trust_root_undersigned");
  }
  t.match((await show(chain.id)).body, { version: 1 });
  const changed = { holders: [thief, second], by: [mary, ada, thief, second], threshold: 2 };
  t.equal((await publish(chain.version(2, [heldKey()], changed))).status, 201, "and so holders are replaced");
});
