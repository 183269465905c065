import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import {
  generateSecret,
  generateSigner,
  parsePrivateKey,
  parsePublicKey,
  parsePublicKeys,
} from "../../../../lib/artifact/signatures/key-files.ts";
import type { SealiftError } from "../../../../lib/contract/errors.ts";
import { needs } from "../../../support/programs/optional.ts";

const SEED = randomBytes(32);
const PUBLIC = Buffer.from(publicKeyOf(SEED));
const privateKey = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), SEED]),
  format: "der",
  type: "pkcs8",
});

/** One key in every form that a file may have. */
const forms = (bytes: Buffer, pem: string) => ({
  raw: bytes,
  hex: Buffer.from(bytes.toString("hex")),
  "upper-case hex with a newline": Buffer.from(`${bytes.toString("hex").toUpperCase()}\n`),
  base64: Buffer.from(bytes.toString("base64")),
  "base64 with CRLF": Buffer.from(`${bytes.toString("base64")}\r\n`),
  base64url: Buffer.from(bytes.toString("base64url")),
  PEM: Buffer.from(pem),
  "PEM with blank lines around": Buffer.from(`\n\n${pem}\n`),
});

t.test("a private key is read from every form, recognised by content", async (t) => {
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  for (const [form, content] of Object.entries(forms(SEED, pem)))
    t.strictSame(Buffer.from(parsePrivateKey(content, "k")), SEED, form);
});

t.test("a public key is read from every form, and from text", async (t) => {
  const pem = createPublicKey(privateKey).export({ format: "pem", type: "spki" }).toString();
  for (const [form, content] of Object.entries(forms(PUBLIC, pem)))
    t.strictSame(Buffer.from(parsePublicKey(content, "k")), PUBLIC, form);
  t.strictSame(Buffer.from(parsePublicKey(PUBLIC.toString("hex"), "k")), PUBLIC);
});

t.test("anything else is refused, and no message shows what the file holds", async (t) => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const x25519 = generateKeyPairSync("x25519");
  const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ";
  const contents = [
    Buffer.alloc(0),
    Buffer.alloc(31, 1),
    Buffer.alloc(33, 1),
    Buffer.alloc(64, 1),
    Buffer.from(secret),
    Buffer.from(SEED.toString("hex").slice(1)),
    Buffer.from(`${SEED.toString("hex")}00`),
    Buffer.from("-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n"),
    Buffer.from(rsa.privateKey.export({ format: "pem", type: "pkcs8" }).toString()),
    Buffer.from(x25519.privateKey.export({ format: "pem", type: "pkcs8" }).toString()),
  ];
  for (const content of contents) {
    for (const parse of [parsePrivateKey, parsePublicKey]) {
      try {
        parse(content, "my.key");
        t.fail("accepted");
      } catch (error) {
        t.match(error, { kind: "UsageError", code: "key_file_invalid" });
        const { message, hint, cause } = error as SealiftError;
        t.ok(message.includes("my.key"), "names the file");
        const shown = `${message} ${hint} ${JSON.stringify(cause ?? "")}`;
        if (content.length > 8) t.notOk(shown.includes(content.toString("latin1").slice(0, 20)), "shows no content");
      }
    }
  }
});

t.test("each reader refuses the other kind of key", async (t) => {
  const made = await generateSigner(join(t.testdir({}), "keys"));
  const [key, pub] = [await readFile(made.privateKeyFile), await readFile(made.publicKeyFile)];
  t.throws(() => parsePrivateKey(pub, "k"), { code: "key_file_invalid", message: /public key/ });
  t.throws(() => parsePublicKey(key, "k"), { code: "key_file_invalid", message: /private key/ });
  const encrypted = Buffer.from("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n");
  t.throws(() => parsePublicKey(encrypted, "k"), { code: "key_file_invalid", message: /private key/ });
});

t.test("a private key that anybody can guess is refused in every form", async (t) => {
  const counted = Buffer.from(Array.from({ length: 32 }, (_, i) => i));
  const published = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
  const patterns = [Buffer.alloc(32), Buffer.alloc(32, "ab"), counted, counted.toReversed(), published];
  for (const seed of patterns.map((bytes) => Buffer.from(bytes)))
    for (const content of [seed, Buffer.from(seed.toString("hex")), Buffer.from(seed.toString("base64"))])
      t.throws(() => parsePrivateKey(content, "k"), { code: "key_file_invalid", message: /guess/ });
});

t.test("a public key that no strict verifier accepts is refused", async (t) => {
  for (const hex of ["00".repeat(32), `01${"00".repeat(31)}`, "ff".repeat(32)])
    t.throws(() => parsePublicKey(hex, "k"), { code: "key_file_invalid" });
});

t.test("keys that openssl makes are taken", { skip: needs("openssl") }, async (t) => {
  const folder = t.testdir({});
  const key = join(folder, "k.pem");
  execFileSync("openssl", ["genpkey", "-algorithm", "ed25519", "-out", key]);
  const pub = execFileSync("openssl", ["pkey", "-in", key, "-pubout"]);
  const seed = parsePrivateKey(await readFile(key), key);
  t.strictSame(Buffer.from(parsePublicKey(pub, "pub")), Buffer.from(publicKeyOf(seed)));
});

t.test("generateSigner makes a private file and its public key, and never replaces one", async (t) => {
  const folder = join(t.testdir({}), "new", "keys");
  const made = await generateSigner(folder);
  t.equal((await stat(made.privateKeyFile)).mode & 0o777, 0o600);
  t.equal((await stat(folder)).mode & 0o777, 0o700);
  const file = await readFile(made.privateKeyFile);
  const seed = parsePrivateKey(file, "key");
  t.strictSame(createPrivateKey(file).asymmetricKeyType, "ed25519", "as OpenSSL reads it");
  t.strictSame(Buffer.from(parsePublicKey(await readFile(made.publicKeyFile), "pub")), Buffer.from(publicKeyOf(seed)));
  t.equal(made.publicKey, Buffer.from(publicKeyOf(seed)).toString("hex"));
  await t.rejects(generateSigner(folder), { code: "usage" });
  t.strictSame(await readFile(made.privateKeyFile), file, "unchanged");
});

t.test("generateSigner leaves no private key behind when a public key stands in its way", async (t) => {
  const folder = t.testdir({ "signer.pub": "somebody's" });
  await t.rejects(generateSigner(folder), { code: "usage" });
  await t.rejects(stat(join(folder, "signer.key")), { code: "ENOENT" });
});

t.test("a file may hold several public keys: PEM blocks, or one a line with comments", async (t) => {
  const other = Buffer.from(publicKeyOf(randomBytes(32)));
  const pem = (key: Buffer) => {
    const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), key]);
    return createPublicKey({ key: der, format: "der", type: "spki" })
      .export({ format: "pem", type: "spki" })
      .toString();
  };
  const expected = [PUBLIC, other].map((key) => Uint8Array.from(key));
  for (const text of [
    pem(PUBLIC) + pem(other),
    `# the laptop\n${PUBLIC.toString("hex")}\n\n${other.toString("base64")} # CI\r\n`,
  ])
    t.strictSame(parsePublicKeys(Buffer.from(text), "pins.pub"), expected);
  t.strictSame(parsePublicKeys(PUBLIC, "raw"), [Uint8Array.from(PUBLIC)]);
  for (const bad of ["", "# nothing\n", `${PUBLIC.toString("hex")}\nno key\n`])
    t.throws(() => parsePublicKeys(Buffer.from(bad), "pins.pub"), { code: "key_file_invalid" });
});

t.test("a signing secret is made once, random, and readable by its owner alone", async (t) => {
  const folder = t.testdir({});
  const path = await generateSecret(folder);
  t.equal(path, join(folder, "signing.secret"));
  t.match(await readFile(path, "utf8"), /^[\w-]{43}\n$/);
  t.equal((await stat(path)).mode & 0o777, 0o600);
  await t.rejects(generateSecret(folder), { code: "usage", message: /is there already/ });
  const other = await generateSecret(join(folder, "other"));
  t.not(await readFile(other, "utf8"), await readFile(path, "utf8"));
});
