/** Trust roots with holders whose keys are P-256, as security keys and cards make them. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { RootDocument, RootKey } from "../../../lib/contract/trust/root.ts";
import { canonicalJson } from "../../../lib/support/documents/canonical-json.ts";
import { forgedRoot as forgedEd25519Root, type HeldKey, type RootPlan } from "./roots.ts";

export { type HeldKey, heldKey } from "./roots.ts";

const keyOf = (pem: string): Pick<HeldKey, "id" | "key"> => {
  const key: RootKey = { keytype: "ecdsa", scheme: "ecdsa-sha2-nistp256", keyval: { public: pem } };
  return { key, id: createHash("sha256").update(canonicalJson(key)).digest("hex") };
};

const pemOf = (spki: Buffer, columns = 64): string => {
  const lines = spki.toString("base64").match(new RegExp(`.{1,${columns}}`, "g"))!;
  return `-----BEGIN PUBLIC KEY-----\n${lines.join("\n")}\n-----END PUBLIC KEY-----\n`;
};

/** Returns the SPKI of a key with its point compressed: 33 bytes instead of 65. */
function compressed(key: KeyObject): Buffer {
  const { x, y } = key.export({ format: "jwk" });
  const odd = Buffer.from(y!, "base64url").at(-1)! % 2;
  const head = Buffer.from("3039301306072a8648ce3d020106082a8648ce3d030107032200", "hex");
  return Buffer.concat([head, Buffer.from([2 + odd]), Buffer.from(x!, "base64url")]);
}

/** P-256 key of a holder, with further ways to write it. */
export interface P256Key extends HeldKey {
  writings: Record<string, Pick<HeldKey, "id" | "key">>;
}

export function p256Key(): P256Key {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const publicKey = createPublicKey(privateKey);
  const spki = publicKey.export({ format: "der", type: "spki" });
  return {
    ...{ ...keyOf(pemOf(spki)), hex: "", privateKey },
    writings: {
      "with its lines cut elsewhere": keyOf(pemOf(spki, 60)),
      "without its last newline": keyOf(pemOf(spki).trimEnd()),
      "with its point compressed": keyOf(pemOf(compressed(publicKey))),
    },
  };
}

/** Returns a version of a root whose holders have either kind of key. */
export function forgedRoot({ by, ...plan }: RootPlan & { by: readonly HeldKey[] }) {
  const made = forgedEd25519Root({ ...plan, by: [] });
  const message = Buffer.from(canonicalJson(made.document.signed));
  const signatures = by.map(({ id, privateKey }) => {
    const digest = privateKey.asymmetricKeyType === "ec" ? "sha256" : null;
    return { keyid: id, sig: sign(digest, message, privateKey).toString("hex") };
  });
  const document: RootDocument = { ...made.document, signatures };
  return { ...made, document, text: JSON.stringify(document) };
}
