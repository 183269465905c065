import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import fc from "fast-check";
import t from "tap";
import { newDek, OpeningCipher, sealed } from "../../../../lib/artifact/project/cipher.ts";
import type { Ed25519Verifier } from "../../../../lib/artifact/signatures/ed25519.ts";
import type { SealiftError } from "../../../../lib/contract/errors.ts";
import { vectors } from "../../../support/forged/independent.ts";

const KEY = Buffer.from(Array.from({ length: 32 }, (_, i) => i));
const NONCE = KEY.subarray(0, 12);
const VECTOR = Buffer.from("000102030405060708090a0b2f67ba77aa2797ff353b8a046d28236dcd9d057bbb", "hex");

/** The signature is judged elsewhere (ed25519.test.ts); here it always, or never, holds. */
const verifier = (holds = true) => ({ update: () => {}, verify: () => holds }) as unknown as Ed25519Verifier;

const asChunks = (chunks: readonly Uint8Array[]) => Readable.from(chunks.map((chunk) => Buffer.from(chunk)));

const sealing = async (key: Uint8Array, chunks: readonly Uint8Array[], nonce?: Uint8Array): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(sealed(asChunks(chunks), key, nonce)));

async function opened(key: Uint8Array, chunks: readonly Uint8Array[], holds = true): Promise<Buffer> {
  const cipher = new OpeningCipher(key, verifier(holds));
  const out = chunks.flatMap((chunk) => cipher.update(Buffer.from(chunk)));
  cipher.finish();
  return Promise.resolve(Buffer.concat(out));
}

const code = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "fine",
    (error: unknown) => (error as SealiftError).code,
  );

/** A message cut into pieces of the given lengths, the rest in one. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const length of lengths) {
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return [...pieces, bytes.subarray(at)];
}

t.test("the vector of docs/contract/vectors.md", async (t) => {
  t.strictSame(await sealing(KEY, [Buffer.from("hello")], NONCE), VECTOR);
  t.equal((await opened(KEY, [VECTOR])).toString(), "hello");
});

t.test("every AES-GCM vector of wycheproof that an artifact can be", async (t) => {
  interface Vectors {
    numberOfTests: number;
    testGroups: {
      keySize: number;
      ivSize: number;
      tagSize: number;
      tests: {
        tcId: number;
        key: string;
        iv: string;
        aad: string;
        msg: string;
        ct: string;
        tag: string;
        result: string;
      }[];
    }[];
  }
  const { numberOfTests, testGroups } = vectors<Vectors>("wycheproof/aes_gcm_test.json");
  let checked = 0;
  for (const { keySize, ivSize, tagSize, tests } of testGroups) {
    if (keySize !== 256 || ivSize !== 96 || tagSize !== 128) continue;
    // Artifacts have no AAD (docs/contract/project-artifact.md): vectors with one cannot be expressed.
    for (const { tcId, key, iv, msg, ct, tag, result } of tests.filter(({ aad }) => aad === "")) {
      const file = Buffer.from(iv + ct + tag, "hex");
      const dek = Buffer.from(key, "hex");
      for (const chunks of [[file], [...file].map((byte) => Buffer.from([byte]))]) {
        const outcome = await opened(dek, chunks).then(
          (plain) => plain.toString("hex"),
          (error: unknown) => (error as SealiftError).code,
        );
        if (outcome !== (result === "valid" ? msg : "decryption_failed")) t.fail(`${tcId}: ${outcome}`);
      }
      if (result === "valid") {
        const sealed = await sealing(dek, [Buffer.from(msg, "hex")], Buffer.from(iv, "hex"));
        if (!sealed.equals(file)) t.fail(`${tcId}: sealed otherwise`);
      }
      checked++;
    }
  }
  t.equal(checked, 48, "256-bit key, 96-bit nonce, 128-bit tag, no AAD");
  t.comment(`${numberOfTests - checked} of ${numberOfTests} vectors are of other sizes or have an AAD`);
});

t.test("any plaintext in any chunks is what node:crypto makes and opens", async (t) => {
  const bytes = fc.uint8Array({ maxLength: 3000 });
  const cuts = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(bytes, cuts, cuts, async (plain, cutsIn, cutsOut) => {
      const dek = newDek();
      const file = await sealing(dek, cut(Buffer.from(plain), cutsIn));
      const decipher = createDecipheriv("aes-256-gcm", dek, file.subarray(0, 12));
      decipher.setAuthTag(file.subarray(-16));
      const theirs = Buffer.concat([decipher.update(file.subarray(12, -16)), decipher.final()]);
      return theirs.equals(plain) && (await opened(dek, cut(file, cutsOut))).equals(plain);
    }),
    { numRuns: 60 },
  );
  t.pass();
});

t.test("each sealing takes a nonce of its own", async (t) => {
  const files = await Promise.all(Array.from({ length: 20 }, () => sealing(KEY, [Buffer.from("x")])));
  t.equal(new Set(files.map((file) => file.subarray(0, 12).toString("hex"))).size, 20);
});

t.test("a changed bit, a wrong key and an artifact cut anywhere are told apart", async (t) => {
  for (let bit = 0; bit < VECTOR.length * 8; bit++) {
    const changed = Buffer.from(VECTOR);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    if ((await code(opened(KEY, [changed]))) !== "decryption_failed") t.fail(`bit ${bit}`);
  }
  t.equal(await code(opened(randomBytes(32), [VECTOR])), "decryption_failed");
  for (let length = 0; length < VECTOR.length; length++) {
    const expected = length < 28 ? "ciphertext_truncated" : "decryption_failed";
    t.equal(await code(opened(KEY, [VECTOR.subarray(0, length)])), expected, `${length} bytes`);
  }
});

t.test("a signature that does not hold is said before anything about the key", async (t) => {
  t.equal(await code(opened(KEY, [VECTOR], false)), "signature_invalid");
  t.equal(await code(opened(randomBytes(32), [VECTOR], false)), "signature_invalid");
  t.equal(await code(opened(KEY, [], false)), "signature_invalid");
});

t.test("a tag shorter than 16 bytes never passes: the last 16 bytes are the tag, whatever they are", async (t) => {
  const cipher = createCipheriv("aes-256-gcm", KEY, NONCE, { authTagLength: 12 });
  const file = Buffer.concat([NONCE, cipher.update("hello, this is longer"), cipher.final(), cipher.getAuthTag()]);
  t.equal(await code(opened(KEY, [file])), "decryption_failed");
});
