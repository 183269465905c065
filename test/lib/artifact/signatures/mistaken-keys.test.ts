import { createPrivateKey, createPublicKey, randomBytes } from "node:crypto";
import { join } from "node:path";
import t from "tap";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import { refusePrivateAsPublic, refusePublicAsPrivate } from "../../../../lib/artifact/signatures/mistaken-keys.ts";

const SEED = randomBytes(32);
const PUBLIC = Buffer.from(publicKeyOf(SEED));
const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
const privateKey = createPrivateKey({ key: Buffer.concat([prefix, SEED]), format: "der", type: "pkcs8" });
const PEM = createPublicKey(privateKey).export({ format: "pem", type: "spki" }).toString();

/** The same public key in a file of each form. */
const forms: Record<string, Buffer> = {
  raw: PUBLIC,
  hex: Buffer.from(`${PUBLIC.toString("hex")}\n`),
  base64: Buffer.from(PUBLIC.toString("base64")),
  PEM: Buffer.from(PEM),
};
const others = { "host.pub": randomBytes(32), "large.pub": "0".repeat(100_000), "empty.pub": "" };

t.test("a public key is not a private one, in whatever form its .pub file lies beside it", async (t) => {
  for (const [form, content] of Object.entries(forms)) {
    const folder = t.testdir({ ...others, "signer.pub": content });
    const given = (name: string): Promise<void> => refusePublicAsPrivate(PUBLIC, join(folder, name));
    await t.rejects(given("mine"), { code: "key_file_invalid", message: /mine holds the public key of signer/ }, form);
    await t.resolves(refusePublicAsPrivate(SEED, join(folder, "mine")), form);
  }
});

t.test("a private key is not a public one when its .pub file lies beside it", async (t) => {
  for (const [form, content] of Object.entries(forms)) {
    const folder = t.testdir({ ...others, "signer.pub": content });
    await t.rejects(
      refusePrivateAsPublic(SEED, join(folder, "signer.key")),
      { code: "key_file_invalid", message: /signer\.key holds the private key of signer\.pub/ },
      form,
    );
    await t.resolves(refusePrivateAsPublic(PUBLIC, join(folder, "signer.pub")), form);
    await t.resolves(refusePrivateAsPublic(SEED, "/nowhere/mine"), form);
  }
});
