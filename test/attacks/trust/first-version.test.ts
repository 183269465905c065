// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** Hosts that pin a signer take version 1 of a root by its countersignature, and nothing else. */
import t from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { rootedProject } from "../../support/host/root-host.ts";

t.test("a first root that the pinned signer has not countersigned is not taken", async (t) => {
  const [pinned, thief] = [heldKey(), heldKey()];
  const project = await rootedProject(t, pinned);
  const { chain, release } = project;
  const one = await project.host({ pinned: [Buffer.from(pinned.hex, "hex")] });
  t.match(await one.check(), { outcome: "deployed" });
  const theirs = rootChain();
  const two = theirs.holders.slice(0, 2);
  await one.refuses(t, theirs.version(1, [thief]), "trust_root_undersigned", "by nobody");
  await one.refuses(
    t,
    theirs.version(1, [thief], { by: [...two, thief] }),
    "trust_root_undersigned",
    "by its own signer",
  );
  await one.refuses(
    t,
    theirs.version(1, [thief, pinned], { by: [...two, { ...thief, id: pinned.id }] }),
    "trust_root_undersigned",
    "by somebody else under the pin's id",
  );
  await one.refuses(
    t,
    chain.version(1, [thief, pinned], { by: [chain.holders[0]!, pinned] }),
    "trust_root_undersigned",
    "by the pin, and too few of its own keys",
  );
  const later = chain.version(2, [thief, pinned], { by: [...chain.holders.slice(0, 2), pinned] });
  await one.refuses(t, later, "trust_root_order", "by the pin, as version 2");
  await release("1.1.0", pinned);
  t.match(await one.check(), { outcome: "deployed", version: "1.1.0" }, "the pin counts still");
  await project.hub.call("POST", "/devkeys/roots", {
    json: { root: theirs.version(1, [thief]), targets: [project.project.id] },
  });
  await release("1.2.0", thief);
  t.match(await one.check(), { outcome: "failed", error: { code: "signer_untrusted" } });
});

t.test("the countersigned one is taken once; from then on the pin counts no more than the root says", async (t) => {
  const [pinned, next] = [heldKey(), heldKey()];
  const project = await rootedProject(t, pinned);
  const { chain, publishRoot, release, wire } = project;
  const one = await project.host({ pinned: [Buffer.from(pinned.hex, "hex")] });
  t.match(await one.check(), { outcome: "deployed" });
  const first = chain.version(1, [pinned], { by: [...chain.holders.slice(0, 2), pinned] });
  await publishRoot(first);
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 1);
  // The pin's thief countersigns another root.
  const theirs = rootChain();
  const forged = theirs.version(1, [pinned], { by: [...theirs.holders.slice(0, 2), pinned] });
  await one.refuses(t, forged, "trust_root_other", "another root that the pin has countersigned");
  await publishRoot(chain.version(2, [next]));
  t.match(await one.check(), { outcome: "current" });
  wire.named = 1;
  t.equal(await one.version(), 2);
  await release("1.1.0", next);
  t.match(await one.check(), { outcome: "deployed", version: "1.1.0" });
});
