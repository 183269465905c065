import t from "tap";
import { halfSipHash } from "../../../../lib/artifact/tree/half-sip-hash.ts";

/** `vectors_hsip32` of https://github.com/veorq/SipHash: the message is 00, 01, …, the key 00 to 07. */
const VECTORS = [
  "a9359f5b",
  "27475ab8",
  "fa62a603",
  "8afee704",
  "2a6e4689",
  "c5fab669",
  "5863fc23",
  "8bcf63c5",
  "d0b8848f",
  "f806e779",
  "94b07934",
  "08083050",
  "57f0872f",
  "77e663ff",
  "d6fff87c",
  "74fe2b97",
];

t.test("the hash is HalfSipHash-2-4", (t) => {
  const key = new Uint32Array(Uint8Array.from({ length: 8 }, (_, index) => index).buffer);
  const message = Buffer.from(Array.from({ length: 64 }, (_, index) => index));
  const found = VECTORS.map((_, length) => {
    const answer = Buffer.alloc(4);
    answer.writeUInt32LE(halfSipHash(message, 0, length, key));
    return answer.toString("hex");
  });
  t.strictSame(found, VECTORS);
  t.end();
});
