/** A trust root that asks for no signature, or for so many that nobody can change it. */
import t from "tap";
import type { SignedRoot } from "../../../lib/contract/trust/root.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

t.test("a threshold is a whole number from 1 to the number of keys, and 1 for the signers", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const chain = rootChain();
  const roles = (change: (roles: SignedRoot["roles"]) => object): string =>
    chain.version(1, [heldKey(), heldKey()], {
      change: (signed) => ({ ...signed, roles: { ...signed.roles, ...change(signed.roles) } }),
    });
  for (const threshold of [0, -1, 4, 17, "2", null, true, [2]])
    await isRefusedRoot(
      t,
      hub,
      project,
      roles(({ root }) => ({ root: { ...root, threshold } })),
      `root: ${JSON.stringify(threshold)}`,
    );
  for (const threshold of [0, 2])
    await isRefusedRoot(
      t,
      hub,
      project,
      roles(({ targets }) => ({ targets: { ...targets, threshold } })),
      `targets: ${threshold}`,
    );
  const text = roles(() => ({}));
  for (const written of ["0.5", "1.5", "-0", "1e-1", "1e400"])
    await isRefusedRoot(t, hub, project, text.replace('"threshold":2', `"threshold":${written}`), written);
  await isRefusedRoot(
    t,
    hub,
    project,
    roles(({ root }) => ({ root: { ...root, keyids: [] } })),
    "no holder",
  );
  await isRefusedRoot(
    t,
    hub,
    project,
    roles(({ targets }) => ({ targets: { ...targets, keyids: [] } })),
    "no signer",
  );
});
