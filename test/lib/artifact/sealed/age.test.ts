// Holds: sealing to one reader, and what is opened (lib/artifact/sealed/age.ts)
// Holds: keys of a host (lib/artifact/sealed/host-key.ts)
import { execFileSync } from "node:child_process";
import { createHash, hkdfSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Decrypter, Encrypter } from "age-encryption";
import t from "tap";
import { openSealed, seal, sealedBytes, x25519PublicKey } from "../../../../lib/artifact/sealed/age.ts";
import { hostFingerprint, hostKeyOf, newHostSeed } from "../../../../lib/artifact/sealed/host-key.ts";
import { bech32 } from "../../../support/bech32.ts";
import { rounds } from "../../../support/effort.ts";
import { needs } from "../../../support/programs/optional.ts";

const CHUNK = 64 * 1024;
const SIZES = [0, 1, 31, 1024, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7];
const LIMIT = 4 * CHUNK;

const reader = () => {
  const secret = randomBytes(32);
  const identity = bech32("age-secret-key-", secret).toUpperCase();
  return { secret, publicKey: x25519PublicKey(secret), identity, recipient: bech32("age", x25519PublicKey(secret)) };
};

t.test("what is sealed is opened by its reader alone", (t) => {
  const [mine, other] = [reader(), reader()];
  for (const size of SIZES) {
    const text = randomBytes(size);
    const sealed = seal(text, mine.publicKey);
    t.ok(openSealed(sealed, mine.secret, LIMIT).equals(text), `${size} bytes`);
    t.ok(sealed.length <= sealedBytes(size));
    t.throws(() => openSealed(sealed, other.secret, LIMIT), { code: "sealed_invalid", message: /another key/ });
  }
  t.notSame(seal(Buffer.from("a"), mine.publicKey), seal(Buffer.from("a"), mine.publicKey), "never the same bytes");
  t.end();
});

t.test("another implementation opens ours, and we open its", async (t) => {
  for (const size of SIZES) {
    const { secret, publicKey, identity, recipient } = reader();
    const text = randomBytes(size);
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    t.ok(Buffer.from(await decrypter.decrypt(seal(text, publicKey))).equals(text), `${size} bytes, ours`);
    const encrypter = new Encrypter();
    encrypter.addRecipient(recipient);
    t.ok(openSealed(await encrypter.encrypt(text), secret, LIMIT).equals(text), `${size} bytes, theirs`);
  }
});

t.test("Debian's age does, too", { skip: needs("age") }, (t) => {
  const folder = t.testdir({});
  const { secret, publicKey, identity, recipient } = reader();
  writeFileSync(join(folder, "identity"), `${identity}\n`);
  for (const size of SIZES) {
    const text = randomBytes(size);
    const opened = execFileSync("age", ["--decrypt", "--identity", join(folder, "identity")], {
      input: seal(text, publicKey),
    });
    t.ok(opened.equals(text), `${size} bytes, ours`);
    const sealed = execFileSync("age", ["--recipient", recipient], { input: text });
    t.ok(openSealed(sealed, secret, LIMIT).equals(text), `${size} bytes, theirs`);
  }
  const two = execFileSync("age", ["--recipient", recipient, "--recipient", reader().recipient], { input: "x" });
  t.throws(
    () => openSealed(two, secret, LIMIT),
    { code: "sealed_invalid", message: /one X25519 stanza/ },
    "two stanzas",
  );
  const armored = execFileSync("age", ["--armor", "--recipient", recipient], { input: "x" });
  t.throws(() => openSealed(armored, secret, LIMIT), { code: "sealed_invalid" });
  t.end();
});

t.test("nothing that was changed is opened", (t) => {
  const { secret, publicKey } = reader();
  const refused = { code: "sealed_invalid", exitCode: 4 };
  const sealed = seal(randomBytes(2 * CHUNK), publicKey);
  const at = Array.from({ length: rounds(200, 5000) }, (_, index) =>
    index < 260 ? index : Math.floor(Math.random() * sealed.length),
  );
  for (const index of at) {
    const changed = Buffer.from(sealed);
    changed[index]! ^= 1 << Math.floor(Math.random() * 8);
    t.throws(() => openSealed(changed, secret, LIMIT), refused);
  }
  const head = sealed.indexOf("\n---") + 4 + 1 + 43 + 1;
  const size = CHUNK + 16;
  const cases: [string, Buffer][] = [
    ["cut in a chunk", sealed.subarray(0, -1)],
    ["without its last chunk", sealed.subarray(0, -size)],
    ["with a chunk twice", Buffer.concat([sealed, sealed.subarray(-size)])],
    ["with an empty last chunk", Buffer.concat([sealed, Buffer.alloc(16)])],
    ["without a payload", sealed.subarray(0, head)],
    ["without a header", sealed.subarray(head)],
    ["with more bytes behind it", Buffer.concat([sealed, Buffer.from("x")])],
    ["empty", Buffer.alloc(0)],
    ["of another version", Buffer.from(sealed.toString("latin1").replace("/v1\n", "/v2\n"), "latin1")],
    ["with a scrypt stanza", Buffer.from("age-encryption.org/v1\n-> scrypt c2FsdA 18\nYm9keQ\n--- bWFj\n")],
    ["with a header of a megabyte", Buffer.from(`age-encryption.org/v1\n-> X25519 ${"A".repeat(100_000)}\n`)],
  ];
  for (const [how, changed] of cases) t.throws(() => openSealed(changed, secret, LIMIT), refused, how);
  t.throws(() => openSealed(sealed, secret, CHUNK), { ...refused, message: /more than/ }, "more than its reader takes");
  // Shares of low order give a secret that everybody knows.
  const text = sealed.toString("latin1");
  const low = ["0".repeat(64), `01${"00".repeat(31)}`, `ecff${"ff".repeat(29)}7f`];
  for (const share of low.map((hex) => Buffer.from(hex, "hex").toString("base64").replace("=", ""))) {
    const forged = Buffer.from(text.replace(/X25519 \S+/, `X25519 ${share}`), "latin1");
    t.throws(() => openSealed(forged, secret, LIMIT), refused);
  }
  for (const key of low)
    t.throws(() => seal(Buffer.from("x"), Buffer.from(key, "hex")), "and no text is sealed to them");
  t.end();
});

t.test("a host's key is derived from its seed as the page says", (t) => {
  const seed = newHostSeed();
  const key = hostKeyOf(seed);
  const derived = (info: string) => Buffer.from(hkdfSync("sha256", seed, "", info, 32));
  t.same(key.secret, derived("sealift host age v1"));
  t.same(key.seed, derived("sealift host sign v1"));
  t.equal(key.x25519, x25519PublicKey(key.secret).toString("hex"));
  const canonical = `{"ed25519":"${key.ed25519}","x25519":"${key.x25519}"}`;
  t.equal(key.fingerprint, createHash("sha256").update(canonical).digest("hex"));
  t.equal(key.fingerprint, hostFingerprint({ x25519: key.x25519, ed25519: key.ed25519 }));
  t.same(hostKeyOf(seed), key, "and it is the same each time");
  t.not(hostKeyOf(newHostSeed()).fingerprint, key.fingerprint);
  t.end();
});
