/** A trust root into which somebody has put a private key, by mistake or so that others keep it. */
import { generateKeyPairSync } from "node:crypto";
import t from "tap";
import type { RootKey } from "../../../lib/contract/trust/root.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

t.test("a private key is refused in each form, and the refusal does not repeat it", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const chain = rootChain();
  const [ada] = chain.holders;
  const pem = (type: "ed25519" | "ec", options = {}): string =>
    String(
      (generateKeyPairSync as (kind: string, options: object) => { privateKey: { export: (of: object) => string } })(
        type,
        options,
      ).privateKey.export({ format: "pem", type: "pkcs8" }),
    );
  const p256 = pem("ec", { namedCurve: "P-256" });
  const ed25519 = pem("ed25519");
  const ecdsa = { keytype: "ecdsa", scheme: "ecdsa-sha2-nistp256" };
  const own = ada!.key.keyval.public;
  for (const [what, key] of [
    ["P-256 in PEM", { ...ecdsa, keyval: { public: p256 } }],
    ["P-256 behind a public key", { ...ecdsa, keyval: { public: `-----BEGIN PUBLIC KEY-----\n${p256}` } }],
    ["Ed25519 in PEM", { ...ada!.key, keyval: { public: ed25519 } }],
    ["Ed25519 in PEM as if of P-256", { ...ecdsa, keyval: { public: ed25519 } }],
    ["beside the public key", { ...ada!.key, keyval: { public: own, private: ed25519 } }],
    ["beside keyval", { ...ada!.key, private: ed25519 }],
  ] as [string, object][]) {
    const text = chain.version(1, [heldKey()], {
      change: (signed) => ({ ...signed, keys: { ...signed.keys, [ada!.id]: key as RootKey } }),
    });
    const { error } = await isRefusedRoot(t, hub, project, text, what);
    for (const secret of [p256, ed25519])
      for (const line of secret.split("\n").slice(1, -2)) t.notMatch(error, line, `${what}: ${error}`);
  }
});
