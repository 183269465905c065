// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** One key under two ids, or in two writings, so that its holder alone is two of three. */
import t from "tap";
import { forgedRoot, type HeldKey, heldKey, p256Key } from "../../support/forged/p256-roots.ts";
import { followingHost, rootedProject } from "../../support/host/root-host.ts";

t.test("a version that names one key under two ids is refused", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const { chain } = project;
  const one = await followingHost(project, signer);
  const [first, second] = [heldKey(), p256Key()];
  const again: HeldKey = { ...first, id: "0".repeat(64) };
  const by = [...chain.holders, first, again];
  await one.refuses(
    t,
    chain.version(2, [signer], { holders: [first, again, heldKey()], by }),
    "trust_root_invalid",
    "two ids of the role root",
  );
  await one.refuses(
    t,
    chain.version(2, [signer, { ...signer, id: "1".repeat(64) }]),
    "trust_root_invalid",
    "two ids of the role targets",
  );
  for (const [what, writing] of Object.entries(second.writings)) {
    const other: HeldKey = { ...second, ...writing };
    const text = forgedRoot({
      ...{ id: chain.id, version: 2, holders: [second, other, heldKey()], threshold: 2, signers: [signer] },
      by: [...chain.holders, second, other],
    }).text;
    await one.refuses(t, text, "trust_root_invalid", `a P-256 key ${what}`);
  }
});

t.test("a key that signs under an id of its own counts once", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const { chain } = project;
  const one = await followingHost(project, signer);
  const [holder] = chain.holders as [HeldKey];
  const by = [holder, { ...holder, id: "2".repeat(64) }, { ...holder, id: "3".repeat(64) }];
  await one.refuses(t, chain.version(2, [heldKey()], { by }), "trust_root_undersigned");
});
