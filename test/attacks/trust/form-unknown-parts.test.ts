/** A trust root with parts that only other readers know: it would say more to them than to us, or less. */
import { generateKeyPairSync } from "node:crypto";
import t from "tap";
import type { SignedRoot } from "../../../lib/contract/trust/root.ts";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { isRefusedRoot } from "../../support/hub/refused-roots.ts";

t.test("unknown fields, roles and types of keys are refused, and so are weak keys", async (t) => {
  const hub = await startHub(t);
  const { id: project } = await createProject(hub);
  const chain = rootChain();
  const [ada] = chain.holders;
  const version = (change: (signed: SignedRoot) => unknown): string => chain.version(1, [heldKey()], { change });
  const withKey = (key: object): string =>
    version((signed) => ({ ...signed, keys: { ...signed.keys, [ada!.id]: key } }));
  const withRoles = (more: object): string => version((signed) => ({ ...signed, roles: { ...signed.roles, ...more } }));
  const { roles } = (JSON.parse(version((signed) => signed)) as { signed: SignedRoot }).signed;
  const { publicKey: p384 } = generateKeyPairSync("ec", { namedCurve: "P-384" });
  const { publicKey: rsa } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = (key: typeof rsa): string => key.export({ format: "pem", type: "spki" }).toString();
  const ecdsa = { keytype: "ecdsa", scheme: "ecdsa-sha2-nistp256" };
  const forged: Record<string, string> = {
    "a field": version((signed) => ({ ...signed, "x-other": 1 })),
    "a role": withRoles({ mirrors: { keyids: [], threshold: 1 } }),
    "no role snapshot": version(({ roles: { snapshot: _, ...others }, ...signed }) => ({ ...signed, roles: others })),
    "a key for timestamp": withRoles({ timestamp: { keyids: [ada!.id], threshold: 1 } }),
    "a field of a role": withRoles({ root: { ...roles.root, paths: ["*"] } }),
    "another type": version((signed) => ({ ...signed, _type: "targets" })),
    "another specification": version((signed) => ({ ...signed, spec_version: "2.0.0" })),
    "no root id": version((signed) => ({ ...signed, "x-sealift-root": "" })),
    RSA: withKey({ keytype: "rsa", scheme: "rsassa-pss-sha256", keyval: { public: pem(rsa) } }),
    "RSA as if of P-256": withKey({ ...ecdsa, keyval: { public: pem(rsa) } }),
    "P-384": withKey({ ...ecdsa, keyval: { public: pem(p384) } }),
    "another scheme": withKey({ ...ada!.key, scheme: "ed448" }),
    "a point of low order": withKey({ ...ada!.key, keyval: { public: `01${"00".repeat(31)}` } }),
    "no point": withKey({ ...ada!.key, keyval: { public: "ff".repeat(32) } }),
    "a key in capitals": withKey({ ...ada!.key, keyval: { public: ada!.hex.toUpperCase() } }),
    "a name of two lines": version((signed) => ({ ...signed, "x-sealift-names": { [ada!.id]: "a\nb" } })),
    "a name that turns the line": version((signed) => ({ ...signed, "x-sealift-names": { [ada!.id]: "a\u202eb" } })),
    "half of a character": version((signed) => signed).replace("2036", "2036\\ud800"),
    "no JSON": "not a root",
    "another JSON": "[]",
    nothing: "null",
  };
  for (const [what, text] of Object.entries(forged)) await isRefusedRoot(t, hub, project, text, what);
});
