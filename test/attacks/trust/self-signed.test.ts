// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** A version that its own new keys have signed, and none of the version before. */
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject } from "../../support/host/root-host.ts";

t.test("a version that only its own keys have signed is refused", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const one = await followingHost(project, signer);
  const holders = [heldKey(), heldKey(), heldKey()];
  const text = project.chain.version(2, [heldKey()], { holders, by: holders });
  await one.refuses(t, text, "trust_root_undersigned");
});

t.test("nor one that only the keys before have signed, which nobody could follow up", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const one = await followingHost(project, signer);
  const holders = [heldKey(), heldKey(), heldKey()];
  const text = project.chain.version(2, [heldKey()], { holders, by: project.chain.holders });
  await one.refuses(t, text, "trust_root_undersigned");
  await one.refuses(
    t,
    project.chain.version(2, [heldKey()], { holders, by: [...project.chain.holders, holders[0]!] }),
    "trust_root_undersigned",
    "one of its own two",
  );
});
