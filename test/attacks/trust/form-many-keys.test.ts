/** A trust root with so many keys or signatures that verifying them takes minutes. */
import t from "tap";
import { parseRoot } from "../../../lib/artifact/trust/root.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

t.test("more keys, roles' keys or signatures than the limits are refused; as many as the limits are not", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const many = Array.from({ length: 1000 }, heldKey);
  const signer = [heldKey()];
  const few = many.slice(0, 16);
  const most = rootChain().version(1, many.slice(16, 32), { holders: few, by: many.slice(0, 32), threshold: 16 });
  t.ok(parseRoot(most, "root"));
  const version = (more: object) => rootChain().version(1, signer, { holders: few, by: few, ...more });
  for (const [what, text] of [
    ["1,000 holders", version({ holders: many, by: few })],
    ["17 holders", version({ holders: many.slice(0, 17), by: few })],
    ["17 signers", rootChain().version(1, many.slice(16, 33), { holders: few, by: few })],
    ["33 signatures", version({ by: many.slice(0, 33) })],
    [
      "400 keys of no role",
      version({
        change: (signed: { keys: object }) => ({
          ...signed,
          keys: { ...signed.keys, ...Object.fromEntries(many.slice(16, 416).map(({ id, key }) => [id, key])) },
        }),
      }),
    ],
  ] as const) {
    if (text.length <= 64 * 1024) await isRefusedRoot(t, hub, project, text, what);
    else t.throws(() => parseRoot(text, "root"), { code: "trust_root_invalid" }, what);
  }
});
