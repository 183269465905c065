/** A trust root in which one key stands under two ids, so that its holder would count as two. */
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import t from "tap";
import type { RootKey, SignedRoot } from "../../../lib/contract/trust/root.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

/** Gives the first holder's place in the role to two ids of one key. */
const doubled = (keys: readonly RootKey[]) => (signed: SignedRoot) => {
  const ids = keys.map((_, index) => String(index).repeat(64));
  return {
    ...signed,
    keys: { ...signed.keys, ...Object.fromEntries(keys.map((key, index) => [ids[index]!, key])) },
    roles: { ...signed.roles, root: { keyids: [...signed.roles.root.keyids, ...ids], threshold: 2 } },
  };
};

t.test("a role has each key once, by its value and not by its id", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const { key } = heldKey();
  await isRefusedRoot(t, hub, project, rootChain().version(1, [heldKey()], { change: doubled([key, key]) }), "Ed25519");

  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = publicKey.export({ format: "pem", type: "spki" }).toString();
  const body = pem.split("\n").slice(1, -2).join("");
  const { x, y } = publicKey.export({ format: "jwk" });
  const sign = Buffer.from(y!, "base64url").at(-1)! % 2 === 0 ? "02" : "03";
  const compressed = Buffer.from(
    `3039301306072a8648ce3d020106082a8648ce3d030107032200${sign}${Buffer.from(x!, "base64url").toString("hex")}`,
    "hex",
  ).toString("base64");
  const written = (lines: string): RootKey => ({
    ...{ keytype: "ecdsa", scheme: "ecdsa-sha2-nistp256" },
    keyval: { public: `-----BEGIN PUBLIC KEY-----\n${lines}\n-----END PUBLIC KEY-----` },
  });
  const other = createPublicKey(written(compressed).keyval.public);
  t.equal(other.export({ format: "jwk" }).x, x, "it is the same key");
  for (const [what, second] of [
    ["in other lines", written(body.match(/.{1,40}/g)!.join("\n"))],
    ["as a compressed point", written(compressed)],
  ] as const) {
    const change = doubled([{ ...written(""), keyval: { public: pem } }, second]);
    await isRefusedRoot(t, hub, project, rootChain().version(1, [heldKey()], { change }), `P-256 ${what}`);
  }
});
