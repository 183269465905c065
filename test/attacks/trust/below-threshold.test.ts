// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** A thief has the hub, the keys of all signers and every root key below the threshold, and can make no root. */
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject } from "../../support/host/root-host.ts";

t.test("no root that a thief below the threshold makes is taken", async (t) => {
  const signer = heldKey();
  const thief = heldKey();
  const project = await rootedProject(t, signer);
  const { chain, release } = project;
  const one = await followingHost(project, signer);
  const [stolen, second] = chain.holders as [typeof signer, typeof signer];
  const others = [heldKey(), heldKey()];
  const tries: Record<string, string> = {
    "one of two signatures": chain.version(2, [thief], { by: [stolen] }),
    "one, and the signer's": chain.version(2, [thief], { by: [stolen, signer] }),
    "one, and keys that the version itself names": chain.version(2, [thief], {
      ...{ holders: [stolen, ...others], by: [stolen, ...others] },
    }),
    "one, and a threshold of one": chain.version(2, [thief], { threshold: 1, by: [stolen] }),
    "one, and somebody else's under the id of another holder": chain.version(2, [thief], {
      by: [stolen, { ...heldKey(), id: second.id }],
    }),
    "one under the ids of two holders": chain.version(2, [thief], { by: [stolen, { ...stolen, id: second.id }] }),
    none: chain.version(2, [thief], { by: [] }),
  };
  for (const [what, text] of Object.entries(tries)) await one.refuses(t, text, "trust_root_undersigned", what);

  const made = JSON.parse(chain.version(2, [thief], { by: [stolen] })) as { signatures: { keyid: string }[] };
  made.signatures.push({ ...made.signatures[0]! });
  await one.refuses(t, JSON.stringify(made), "trust_root_invalid", "one signature twice");
  const old = JSON.parse(chain.version(1, [signer])) as { signatures: { keyid: string }[] };
  made.signatures = [made.signatures[0]!, old.signatures.find(({ keyid }) => keyid === second.id)!];
  await one.refuses(t, JSON.stringify(made), "trust_root_undersigned", "one, and another holder's of version 1");

  await release("1.1.0", signer);
  t.match(await one.check(), { outcome: "deployed", version: "1.1.0" }, "the host goes on with the root that it has");
});
