// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** Roots of others: another id, and the root of another hub or owner under the same id. */
import t from "tap";
import { heldKey, rootChain, rootIdOf } from "../../support/forged/roots.ts";
import { followingHost, rootedProject, rootFile } from "../../support/host/root-host.ts";

t.test("the next version of another root is refused, though the same keys have signed it", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const one = await followingHost(project, signer);
  const other = project.chain.version(2, [heldKey()], { id: rootIdOf() });
  await one.refuses(t, other, "trust_root_other", "the same holders' other root");
  await one.refuses(t, rootChain().version(2, [heldKey()]), "trust_root_other", "the root of another hub");
  const { id } = project.chain;
  await one.refuses(t, rootChain().version(2, [heldKey()], { id }), "trust_root_undersigned", "its id taken over");
});

t.test("an operator's file of another root is an error, and changes nothing", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const one = await followingHost(project, signer);
  one.choice.file = await rootFile(one.outside, 2, rootChain().version(1, [heldKey()]));
  t.match(await one.check(), { outcome: "failed", error: { code: "trust_root_other", exitCode: 4 } });
  t.equal(await one.version(), 1);
  t.equal(await one.running(), "1.0.0");
});
