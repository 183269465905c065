// Holds: which keys sign trust roots (lib/artifact/trust/keys.ts)
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import t from "tap";
import { keyIdOf, publicRootKey, rootSigner, signerRootKey, usableKey } from "../../../../lib/artifact/trust/keys.ts";
import type { RootKey } from "../../../../lib/contract/trust/root.ts";
import { p256Key } from "../../../support/forged/p256-roots.ts";
import { needs } from "../../../support/programs/optional.ts";

const MESSAGE = Buffer.from("the canonical JSON of a root");

t.test("Ed25519 keys are read in every form of signer.key and signer.pub", (t) => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const seed = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32);
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const key = signerRootKey(raw);
  for (const form of [raw.toString("hex"), raw.toString("base64"), publicKey.export({ format: "pem", type: "spki" })])
    t.strictSame(publicRootKey(Buffer.from(form), "signer.pub"), key);
  for (const form of [seed.toString("hex"), privateKey.export({ format: "pem", type: "pkcs8" })]) {
    const signer = rootSigner(Buffer.from(form), "signer.key");
    t.strictSame(signer.key, key);
    const usable = usableKey(key)!;
    t.ok(usable.verifies(MESSAGE, signer.sign(MESSAGE)));
    t.notOk(usable.verifies(Buffer.from("another"), signer.sign(MESSAGE)));
    t.equal(usable.ed25519, raw.toString("hex"));
  }
  t.end();
});

t.test("P-256 keys that openssl makes sign and verify", { skip: needs("openssl") }, (t) => {
  const openssl = (args: string, input = "") => execFileSync("openssl", args.split(" "), { input, stdio: "pipe" });
  const sec1 = openssl("ecparam -name prime256v1 -genkey -noout").toString();
  const withParameters = openssl("ecparam -name prime256v1 -genkey").toString();
  const pkcs8 = openssl("pkcs8 -topk8 -nocrypt", sec1).toString();
  const pub = openssl("ec -pubout", sec1);
  const key = publicRootKey(pub, "a.pub");
  t.match(key, { keytype: "ecdsa", scheme: "ecdsa-sha2-nistp256" });
  for (const pem of [sec1, pkcs8]) {
    const signer = rootSigner(Buffer.from(pem), "a.pem");
    t.strictSame(signer.key, key);
    t.ok(usableKey(key)!.verifies(MESSAGE, signer.sign(MESSAGE)));
  }
  t.equal(rootSigner(Buffer.from(withParameters), "b.pem").key.keytype, "ecdsa", "with its parameters in front");
  t.strictSame(publicRootKey(Buffer.from(pub.toString().replaceAll("\n", "\r\n")), "a.pub"), key, "lines of Windows");
  t.equal(usableKey(key)!.ed25519, undefined, "it signs no versions");
  t.end();
});

t.test("writings of one P-256 key have one value", (t) => {
  const { key, writings } = p256Key();
  for (const [what, { key: other }] of Object.entries(writings)) {
    t.equal(usableKey(other)?.value, usableKey(key)!.value, what);
    t.not(keyIdOf(other), keyIdOf(key), what);
  }
  t.end();
});

t.test("what is not such a key is refused", (t) => {
  const pem = (curve: string) => generateKeyPairSync("ec", { namedCurve: curve });
  const invalid = { code: "key_file_invalid" };
  for (const curve of ["secp384r1", "secp256k1"]) {
    const { publicKey, privateKey } = pem(curve);
    t.throws(() => publicRootKey(Buffer.from(publicKey.export({ format: "pem", type: "spki" })), "x"), invalid, curve);
    const signing = () => rootSigner(Buffer.from(privateKey.export({ format: "pem", type: "sec1" })), "x");
    t.throws(signing, { ...invalid, message: /x holds no P-256 private key/ }, curve);
    const key: RootKey = {
      ...{ keytype: "ecdsa", scheme: "ecdsa-sha2-nistp256" },
      keyval: { public: publicKey.export({ format: "pem", type: "spki" }).toString() },
    };
    t.equal(usableKey(key), undefined, curve);
  }
  const { privateKey } = pem("prime256v1");
  const secret = privateKey.export({ format: "pem", type: "pkcs8" });
  t.throws(() => publicRootKey(Buffer.from(secret), "x"), invalid, "a private key in the place of a public one");
  const locked = privateKey.export({ format: "pem", type: "sec1", cipher: "aes-256-cbc", passphrase: "word" });
  t.throws(() => rootSigner(Buffer.from(locked), "x"), { ...invalid, hint: /without a passphrase/ }, "a passphrase");
  for (const text of ["", "nonsense", "00".repeat(31)]) {
    t.throws(() => publicRootKey(Buffer.from(text), "x"), invalid, text);
    t.throws(() => rootSigner(Buffer.from(text), "x"), invalid, text);
  }
  t.equal(usableKey(signerRootKey(Buffer.alloc(32))), undefined, "a point of low order");
  t.equal(usableKey(signerRootKey(Buffer.alloc(32, 0xff))), undefined, "no point");
  t.end();
});
