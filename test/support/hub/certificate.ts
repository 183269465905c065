import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const DAY_MS = 24 * 60 * 60 * 1000;

/** A DER value: its tag, its length, and its content, which may be made of others. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const utcTime = (ms: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));

const ECDSA_WITH_SHA256 = sequence(objectId("2a8648ce3d040302"));
const COMMON_NAME = objectId("550403");
const SUBJECT_ALT_NAME = objectId("551d11");
const BASIC_CONSTRAINTS = objectId("551d13");
const TRUE = Buffer.from([0x01, 0x01, 0xff]);

/** Makes a self-signed certificate (RFC 5280) for 127.0.0.1 and its P-256 key, for a day. @returns both as PEM */
export function makeCertificate(
  commonName = "127.0.0.1",
  { endsAt = Date.now() + DAY_MS } = {},
): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(commonName)))));
  const address = sequence(der(0x87, Buffer.from([127, 0, 0, 1])));
  const serial = randomBytes(8);
  // Positive, and with no needless zero before it.
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  const unsigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ECDSA_WITH_SHA256,
    name,
    sequence(utcTime(Date.now() - DAY_MS), utcTime(endsAt)),
    name,
    publicKey.export({ format: "der", type: "spki" }),
    der(
      0xa3,
      sequence(
        sequence(BASIC_CONSTRAINTS, TRUE, der(0x04, sequence(TRUE))),
        sequence(SUBJECT_ALT_NAME, der(0x04, address)),
      ),
    ),
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", unsigned, privateKey));
  const body = sequence(unsigned, ECDSA_WITH_SHA256, signature).toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`,
  };
}
