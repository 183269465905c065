// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** A hub gives an older version, whose signer was stolen since, as the next one. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject, rootFile } from "../../support/host/root-host.ts";

t.test("an older version, or the same one, is refused in the place of the next one", async (t) => {
  const [stolen, next] = [heldKey(), heldKey()];
  const project = await rootedProject(t, stolen);
  const { chain, publishRoot, release } = project;
  const one = await followingHost(project, stolen);
  await publishRoot(chain.version(1, [stolen]));
  await publishRoot(chain.version(2, [next]));
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 2);
  await one.refuses(t, chain.version(1, [stolen]), "trust_root_order", "the first one");
  await one.refuses(t, chain.version(2, [next]), "trust_root_order", "the same one");
  await one.refuses(t, chain.version(2, [stolen]), "trust_root_order", "another second one");

  // An operator's file that is older takes nothing back either.
  one.choice.file = await rootFile(one.outside, 1, chain.version(1, [stolen]));
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 2);
  await release("1.1.0", next);
  t.match(await one.check(), { outcome: "deployed", version: "1.1.0" });
});

t.test("a hub that names an older version than the host's changes nothing, and doctor says so", async (t) => {
  const [signer, next] = [heldKey(), heldKey()];
  const project = await rootedProject(t, signer);
  const { chain, wire } = project;
  const one = await followingHost(project, signer);
  one.choice.file = await rootFile(one.outside, 2, chain.version(2, [next]));
  wire.named = 1;
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 2);
  t.ok((await one.findings()).some(({ message }) => message.startsWith("The hub names version 1, which is older")));
  await rm(join(one.outside, "2.root.json"));
  t.match(await one.check(), { outcome: "current" }, "nor is the file needed any more");
  t.equal(await one.version(), 2);
});
