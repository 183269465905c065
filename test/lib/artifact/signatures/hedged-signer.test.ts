import { execFileSync } from "node:child_process";
import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ed25519 } from "@noble/curves/ed25519.js";
import t from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { Ed25519Verifier, publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import {
  hedgedSigner,
  type NonceSources,
  type SigningFacts,
} from "../../../../lib/artifact/signatures/hedged-signer.ts";
import { listSourceTree } from "../../../../lib/artifact/tree/source-tree.ts";
import { needs } from "../../../support/programs/optional.ts";

const SEED = createHash("sha256").update("a seed").digest();
const PUBLIC = publicKeyOf(SEED);
const FACTS: SigningFacts = {
  projectId: "prj_0123456789",
  version: "1.0.0",
  listing: Buffer.alloc(32, 1),
  dek: Buffer.alloc(32, 2),
};
/** A machine on which nothing ever changes: the generator is broken, and every clock stands still. */
const FROZEN: NonceSources = {
  random: (buffer) => void buffer.fill(7),
  wallMs: () => 1_700_000_000_000,
  monotonicNs: () => 1n,
  bootId: () => "boot",
  pid: 1,
  threadId: 0,
  count: () => 0,
};

/** R, which tells nonces apart. */
const r = (facts: Partial<SigningFacts> = {}, sources: Partial<NonceSources> = {}, seed = SEED): string => {
  using signer = hedgedSigner(seed, { ...FACTS, ...facts }, { ...FROZEN, ...sources });
  return Buffer.from(signer.start.subarray(0, 32)).toString("hex");
};

t.test("with all sources frozen but one, nonces differ", async (t) => {
  t.equal(r(), r(), "frozen, the nonce is a function of its inputs");
  let filled = 0;
  const rs: Record<string, string> = {
    frozen: r(),
    generator: r({}, { random: (buffer) => void buffer.fill(++filled) }),
    "wall clock": r({}, { wallMs: () => 1_700_000_000_001 }),
    "monotonic clock": r({}, { monotonicNs: () => 2n }),
    "start of the machine": r({}, { bootId: () => "another" }),
    process: r({}, { pid: 2 }),
    thread: r({}, { threadId: 1 }),
    "two publications in one nanosecond": r({}, { count: () => 1 }),
    project: r({ projectId: "prj_0123456780" }),
    version: r({ version: "1.0.1" }),
    "project and version moved against each other": r({ projectId: "prj_01234567891", version: ".0.0" }),
    "a cloned machine with another tree": r({ listing: Buffer.alloc(32, 3) }),
    "a cloned machine with another key": r({ dek: Buffer.alloc(32, 4) }),
    seed: r({}, {}, createHash("sha256").update("another seed").digest()),
  };
  t.equal(new Set(Object.values(rs)).size, Object.keys(rs).length, JSON.stringify(rs, null, 2));
});

t.test("the machine's own sources never give one nonce twice", async (t) => {
  const seen = new Set<string>();
  for (let i = 0; i < 200; i++) {
    using signer = hedgedSigner(SEED, FACTS);
    seen.add(Buffer.from(signer.start).toString("hex"));
  }
  t.equal(seen.size, 200);
});

t.test("nonces are uniform, whatever little their inputs differ in", async (t) => {
  // R is a point: each bit of its y, and of the hash that a nonce is, is set as often as not.
  const rounds = 600;
  const set = Array.from({ length: 256 }, () => 0);
  for (let round = 0; round < rounds; round++) {
    const bytes = Buffer.from(r({}, { count: () => round }), "hex");
    // The highest bits follow from the field's prime and the sign of x.
    for (let bit = 0; bit < 254; bit++) set[bit]! += (bytes[bit >> 3]! >> (bit & 7)) & 1;
  }
  // Of 254 fair coins thrown 600 times none leaves 6 standard deviations: once in two million runs.
  const most = 6 * Math.sqrt(rounds / 4);
  t.strictSame(
    set.slice(0, 254).filter((count) => Math.abs(count - rounds / 2) > most),
    [],
  );
  const chi = set.slice(0, 254).reduce((sum, count) => sum + (count - rounds / 2) ** 2 / (rounds / 4), 0);
  t.ok(Math.abs(chi - 254) < 6 * Math.sqrt(2 * 254), `chi² of 254 degrees of freedom is ${chi}`);
});

/** A hedged signature over some bytes, in two pieces. */
function signed(message: Buffer): Uint8Array {
  using signer = hedgedSigner(SEED, FACTS);
  signer.update(message.subarray(0, 10));
  signer.update(message.subarray(10));
  return signer.sign();
}

t.test("node:crypto, noble and our verifier accept hedged signatures, and no changed ones", async (t) => {
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), PUBLIC]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  for (let round = 0; round < 20; round++) {
    const message = randomBytes(1 + round * 97);
    const signature = signed(message);
    t.ok(verify(null, message, key, signature));
    t.ok(ed25519.verify(signature, message, PUBLIC, { zip215: false }));
    t.ok(new Ed25519Verifier(PUBLIC, signature).update(message).verify());
    message[0]! ^= 1;
    t.notOk(verify(null, message, key, signature));
  }
});

const supercop = (() => {
  try {
    return createRequire(import.meta.url)("ed25519-supercop") as {
      verify(signature: Buffer, message: Buffer, publicKey: Buffer): boolean;
    };
  } catch (error) {
    if (process.env["CI"] === "true") throw error;
    return undefined;
  }
})();

t.test("ed25519-supercop accepts them", { skip: supercop === undefined && "it is not built here" }, async (t) => {
  const message = randomBytes(1000);
  t.ok(supercop!.verify(Buffer.from(signed(message)), message, Buffer.from(PUBLIC)));
});

t.test("openssl accepts them", { skip: needs("openssl") }, async (t) => {
  const folder = t.testdir({});
  const message = randomBytes(1000);
  const file = (name: string, content: Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const key = file("key.der", Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), PUBLIC]));
  const args = [
    "-inkey",
    key,
    "-keyform",
    "DER",
    "-in",
    file("message", message),
    "-sigfile",
    file("sig", signed(message)),
  ];
  t.match(execFileSync("openssl", ["pkeyutl", "-verify", "-pubin", "-rawin", ...args]).toString(), /Success/i);
});

t.test("the digest of a listing differs with a name, a size, a time and a bit, and reads no file", async (t) => {
  const folder = t.testdir({});
  const digest = (): string => listSourceTree(folder, { limits: DEFAULT_LIMITS }).members.stampDigest().toString("hex");
  const digests = [digest()];
  writeFileSync(join(folder, "a"), "1");
  digests.push(digest());
  utimesSync(join(folder, "a"), 1, 1);
  digests.push(digest());
  writeFileSync(join(folder, "a"), "22");
  digests.push(digest());
  mkdirSync(join(folder, "b"));
  digests.push(digest());
  t.equal(new Set(digests).size, digests.length);
  t.equal(digest(), digests.at(-1));
});
