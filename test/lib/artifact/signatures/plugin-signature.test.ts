import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import {
  pluginSignatureDigest,
  verifyPluginSignature,
  writePluginSignature,
} from "../../../../lib/artifact/signatures/plugin-signature.ts";

/** Tree T of docs/contract/vectors.md. */
const tree = () => ({
  a: { b: "2\n" },
  "a-b": { c: "1\n" },
  "plugin.yaml": "name: demo\nversion: 1.0.0\nexecution_mode: trusted\n",
  "manifest.json": "{}",
  src: {
    "main.py": 'print("x")\n',
    sub: { "u.py": "" },
    "README.md": "md\n",
    "data.json": "{}\n",
    __pycache__: { "x.pyc": "z" },
    ".env": "E=1\n",
  },
});

const facts = { name: "demo", version: "1.0.0", entryPoint: "src/main.py" };

t.test("the digest is the published vector for an entry point in src/", async (t) => {
  t.equal(
    await pluginSignatureDigest(t.testdir(tree()), "src/main.py", "secret"),
    "66b4867fe7c8e6c42490439fde26fc2888da68a1e74aab7a16ce0bfa376a0bac",
  );
});

t.test("the digest is the published vector for an entry point at the root", async (t) => {
  t.equal(
    await pluginSignatureDigest(t.testdir(tree()), "main.py", "secret"),
    "e649326022b9c5eebf05575ec2de6b59963a2aa4013a4d9ccdbc01bc120c68cb",
  );
});

t.test("a signature that was written verifies, and writing it does not change the digest", async (t) => {
  const folder = t.testdir(tree());
  await writePluginSignature(folder, facts, "secret");
  await writePluginSignature(folder, { ...facts, entryPoint: "main.py" }, "secret");
  t.same(await verifyPluginSignature(folder, { ...facts, entryPoint: "main.py" }, "secret"), { valid: true });
  const written: unknown = JSON.parse(await readFile(join(folder, "plugin.sig"), "utf8"));
  t.match(written, { plugin: "demo", version: "1.0.0", algo: "HMAC-SHA256", digest: /^[0-9a-f]{64}$/ });
});

t.test("a missing, foreign, outdated, altered or malformed signature is refused", async (t) => {
  const folder = t.testdir(tree());
  t.match(await verifyPluginSignature(folder, facts, "secret"), { valid: false, code: "signature_missing" });
  await writePluginSignature(folder, facts, "secret");
  t.match(await verifyPluginSignature(folder, facts, "other"), { valid: false, code: "signature_invalid" });
  t.match(await verifyPluginSignature(folder, { ...facts, version: "1.0.1" }, "secret"), { valid: false });
  t.match(await verifyPluginSignature(folder, { ...facts, name: "other" }, "secret"), { valid: false });
  await writeFile(join(folder, "src/sub/u.py"), "x");
  t.match(await verifyPluginSignature(folder, facts, "secret"), { valid: false, code: "signature_invalid" });
  for (const text of ["not json", "{}"]) {
    await writeFile(join(folder, "plugin.sig"), text);
    t.match(await verifyPluginSignature(folder, facts, "secret"), { valid: false, code: "signature_invalid" });
  }
});

t.test("files are ordered by code point, so that U+FF5E comes before an emoji", async (t) => {
  const one = t.testdir({ "plugin.yaml": "x", "\u{1F600}": "e", "\uFF5E": "t" });
  const { createHmac } = await import("node:crypto");
  const expected = createHmac("sha256", "k").update("x\uFF5E\0t\0\u{1F600}\0e\0").digest("hex");
  t.equal(await pluginSignatureDigest(one, "main.js", "k"), expected);
});
