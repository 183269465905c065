import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, randomBytes, sign, verify } from "node:crypto";
import { appendFileSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import fc from "fast-check";
import t, { type Test } from "tap";
import {
  Ed25519Verifier,
  equalBytes,
  isSignedBy,
  isUsablePublicKey,
  nonceHash,
  OnePassSigner,
  publicKeyOf,
} from "../../../../lib/artifact/signatures/ed25519.ts";
import { signFile } from "../../../../lib/artifact/signatures/sign-file.ts";
import { vectors } from "../../../support/forged/independent.ts";
import { needs } from "../../../support/programs/optional.ts";

interface Supercop {
  createKeyPair(seed: Buffer): { publicKey: Buffer; secretKey: Buffer };
  sign(message: Buffer, publicKey: Buffer, secretKey: Buffer): Buffer;
  verify(signature: Buffer, message: Buffer, publicKey: Buffer): boolean;
}
/** The package is a development dependency with a native part: it may be missing where scripts are not allowed. */
function loadSupercop(): Supercop | undefined {
  try {
    return createRequire(import.meta.url)("ed25519-supercop") as Supercop;
  } catch (error) {
    if (process.env["CI"] === "true") throw error;
    return undefined;
  }
}
const supercop = loadSupercop();
const skip = supercop === undefined ? "ed25519-supercop is not built on this machine" : false;

const SEED = Buffer.from(Array.from({ length: 32 }, (_, i) => i));
const PUBLIC = Buffer.from("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8", "hex");
const FILE = Buffer.from("000102030405060708090a0b2f67ba77aa2797ff353b8a046d28236dcd9d057bbb", "hex");
const SIGNATURE = Buffer.from(
  "e20644452ff942948b98bde5b6a053dec1ae881d16c701a90958dbfeb64b6113747d876809e8756d1f1f324fbeccdd6246b37d3c2a055dadc1fe52019abe330e",
  "hex",
);
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

function signed(seed: Uint8Array, message: Uint8Array): Buffer {
  using signer = new OnePassSigner(seed, nonceHash(seed).update(message).digest());
  signer.update(message);
  return Buffer.from(signer.sign());
}

const verifies = (publicKey: Uint8Array, signature: Uint8Array, ...chunks: Uint8Array[]): boolean => {
  const verifier = new Ed25519Verifier(publicKey, signature);
  for (const chunk of chunks) verifier.update(chunk);
  const answer = verifier.verify();
  if (isSignedBy(publicKey, Buffer.concat(chunks), signature) !== answer) throw new Error("the two ways disagree");
  return answer;
};

/** RFC 8410: a seed as PKCS #8, a public key as SPKI, for node:crypto. */
const nodePrivate = (seed: Uint8Array) =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
    format: "der",
    type: "pkcs8",
  });
const nodePublic = (key: Uint8Array) =>
  createPublicKey({
    key: Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), key]),
    format: "der",
    type: "spki",
  });

/** S + L: the other number that means the same scalar. */
function malleable(signature: Buffer): Buffer {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString("hex")}`) + ORDER;
  const bytes = Buffer.from(s.toString(16).padStart(64, "0"), "hex").reverse();
  return Buffer.concat([signature.subarray(0, 32), bytes]);
}

t.test("the vector of docs/contract/vectors.md: public key, signature, verification", async (t) => {
  t.strictSame(Buffer.from(publicKeyOf(SEED)), PUBLIC);
  t.strictSame(signed(SEED, FILE), SIGNATURE);
  t.ok(verifies(PUBLIC, SIGNATURE, FILE));
  t.notOk(verifies(PUBLIC, SIGNATURE, FILE.subarray(1)));
});

t.test("every Ed25519 vector of wycheproof, whole and byte by byte", async (t) => {
  interface Vectors {
    testGroups: {
      publicKey: { pk: string };
      tests: { tcId: number; comment: string; msg: string; sig: string; result: string }[];
    }[];
  }
  let count = 0;
  for (const group of vectors<Vectors>("wycheproof/ed25519_test.json").testGroups) {
    const key = Buffer.from(group.publicKey.pk, "hex");
    for (const { tcId, comment, msg, sig, result } of group.tests) {
      const message = Buffer.from(msg, "hex");
      const signature = Buffer.from(sig, "hex");
      const expected = result === "valid";
      if (verifies(key, signature, message) !== expected) t.fail(`${tcId}: ${comment}`);
      const bytes = [...message].map((byte) => Buffer.from([byte]));
      if (verifies(key, signature, ...bytes) !== expected) t.fail(`${tcId} in single bytes: ${comment}`);
      count++;
    }
  }
  t.equal(count, 151);
});

t.test("any message in any chunks verifies, and node:crypto makes and accepts the same signature", async (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }),
      (seed, chunks) => {
        const message = Buffer.concat(chunks);
        const nonce = nonceHash(seed).update(message).digest();
        using signer = new OnePassSigner(seed, nonce);
        for (const chunk of chunks) signer.update(chunk);
        const signature = signer.sign();
        const key = publicKeyOf(seed);
        return (
          verifies(key, signature, ...chunks) &&
          equalBytes(signature, sign(null, message, nodePrivate(seed))) &&
          verify(null, message, nodePublic(key), signature)
        );
      },
    ),
    { numRuns: 60 },
  );
  t.pass();
});

t.test("one changed bit of key, signature or message is refused", async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: (32 + 64 + FILE.length) * 8 - 1 }), (bit) => {
      const all = Buffer.concat([PUBLIC, SIGNATURE, FILE]);
      all[bit >> 3]! ^= 1 << (bit & 7);
      return !verifies(all.subarray(0, 32), all.subarray(32, 96), all.subarray(96));
    }),
    { numRuns: 150 },
  );
  t.pass();
});

t.test("keys and signatures of a wrong length are refused, not thrown at", async (t) => {
  for (const length of [0, 31, 33]) t.notOk(verifies(Buffer.alloc(length), SIGNATURE, FILE));
  for (const length of [0, 32, 63, 65]) t.notOk(verifies(PUBLIC, Buffer.alloc(length), FILE));
  t.notOk(isUsablePublicKey(Buffer.alloc(31)));
});

t.test("ed25519-supercop makes the same keys and signatures, and each accepts the other's", { skip }, async (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array({ maxLength: 2000 }),
      (seedBytes, messageBytes) => {
        const seed = Buffer.from(seedBytes);
        const message = Buffer.from(messageBytes);
        const pair = supercop!.createKeyPair(seed);
        const theirs = supercop!.sign(message, pair.publicKey, pair.secretKey);
        const ours = signed(seed, message);
        return (
          equalBytes(pair.publicKey, publicKeyOf(seed)) &&
          theirs.equals(ours) &&
          verifies(pair.publicKey, theirs, message) &&
          supercop!.verify(ours, message, pair.publicKey)
        );
      },
    ),
    { numRuns: 60 },
  );
  t.pass();
});

/** Points of order 1, 2, 4 and 8 (RFC 7748's curve in Edwards form), and encodings that are not canonical. */
const LOW_ORDER = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
];

t.test("where ed25519-supercop is wrong (docs/decisions/0002-ed25519.md)", { skip }, async (t) => {
  t.test("it accepts S + L, a second signature that nobody made; we refuse it", async (t) => {
    const second = malleable(SIGNATURE);
    t.ok(supercop!.verify(second, FILE, PUBLIC), "ed25519-supercop accepts it");
    t.notOk(verifies(PUBLIC, second, FILE), "we do not");
    t.notOk(verify(null, FILE, nodePublic(PUBLIC), second), "nor does node:crypto");
  });

  t.test("it accepts a key of low order, for which one signature fits many messages; we refuse it", async (t) => {
    const identity = Buffer.from(LOW_ORDER[0]!, "hex");
    const forged = Buffer.concat([identity, Buffer.alloc(32)]);
    for (const message of ["anything", "anything else"]) {
      t.ok(supercop!.verify(forged, Buffer.from(message), identity), "ed25519-supercop accepts it");
      t.notOk(verifies(identity, forged, Buffer.from(message)), "we do not");
    }
  });

  t.test("its sign trusts the public key it is given: two calls give the private key away", async (t) => {
    const { publicKey, secretKey } = supercop!.createKeyPair(SEED);
    const other = supercop!.createKeyPair(randomBytes(32)).publicKey;
    const message = Buffer.from("one message");
    const right = supercop!.sign(message, publicKey, secretKey);
    const wrong = supercop!.sign(message, other, secretKey);
    t.strictSame(right.subarray(0, 32), wrong.subarray(0, 32), "the same R");
    t.not(right.subarray(32).toString("hex"), wrong.subarray(32).toString("hex"), "and another S");
    t.notOk(supercop!.verify(wrong, message, publicKey), "a signature that does not even verify");
  });
});

t.test("no key or R of low order is accepted, and none is a usable public key", async (t) => {
  for (const hex of LOW_ORDER) {
    const point = Buffer.from(hex, "hex");
    t.notOk(isUsablePublicKey(point), hex);
    t.notOk(verifies(point, Buffer.concat([point, Buffer.alloc(32)]), FILE));
  }
  // y = p + 3, a valid point's y in a second spelling.
  const noncanonical = Buffer.from("f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "hex");
  t.notOk(isUsablePublicKey(noncanonical));
  t.ok(isUsablePublicKey(PUBLIC));
});

async function fileOf(t: Test, content: Uint8Array): Promise<string> {
  const path = join(t.testdir({}), "file");
  await writeFile(path, content);
  return path;
}

t.test("a file is signed in two passes, as openssl does it in one", { skip: needs("openssl") }, async (t) => {
  const content = randomBytes(3 * 1024 * 1024 + 17);
  const path = await fileOf(t, content);
  await using file = await open(path, "r");
  const signature = await signFile(file, SEED);
  t.ok(verifies(PUBLIC, signature, content));
  const key = `${path}.pem`;
  await writeFile(key, nodePrivate(SEED).export({ format: "pem", type: "pkcs8" }));
  const theirs = execFileSync("openssl", ["pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", path]);
  t.strictSame(Buffer.from(signature), theirs);
});

t.test("a file that changes between the passes gets no signature", async (t) => {
  const path = await fileOf(t, randomBytes(5_000_000));
  await using file = await open(path, "r");
  // Heard when the first piece is read.
  const signal = new AbortController().signal;
  signal.throwIfAborted = () => appendFileSync(path, "more");
  await t.rejects(signFile(file, SEED, signal), { kind: "PublishError", code: "source_changed" });
});

t.test("a signer makes one signature, wipes its nonce, and knows R and A before the first byte", async (t) => {
  const nonce = randomBytes(64);
  const signer = new OnePassSigner(SEED, nonce);
  signer.update(FILE);
  const signature = signer.sign();
  t.same(signer.start, Buffer.concat([signature.subarray(0, 32), PUBLIC]));
  t.ok(verifies(PUBLIC, signature, FILE));
  t.throws(() => signer.sign(), /one signature/);
  t.same(nonce, Buffer.alloc(64));
  const given = randomBytes(64);
  new OnePassSigner(SEED, given)[Symbol.dispose]();
  t.same(given, Buffer.alloc(64), "also of one that signs nothing");
});

t.test("a verifier that knows R alone accepts the signature that begins with it, and no other", async (t) => {
  const verifier = () => new Ed25519Verifier(PUBLIC, SIGNATURE.subarray(0, 32)).update(FILE);
  t.ok(verifier().verify(SIGNATURE));
  const other = Buffer.from(SIGNATURE);
  other[0]! ^= 1;
  t.notOk(verifier().verify(other), "another R");
  t.notOk(verifier().verify(), "no S at all");
});
