// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** A hub answers with a later version than the next one: what the versions between have dropped would be skipped. */
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject } from "../../support/host/root-host.ts";

t.test("a version after a gap is refused, though the keys have signed it", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const one = await followingHost(project, signer);
  for (const version of [3, 65, 2 ** 31 - 1])
    await one.refuses(t, project.chain.version(version, [heldKey()]), "trust_root_order", `version ${version}`);
});
