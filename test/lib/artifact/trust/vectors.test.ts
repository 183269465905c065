// Holds: the form of trust roots (lib/artifact/trust/root.ts, lib/artifact/trust/keys.ts)
/** Three versions of a root in `test/vectors/trust`, whose keys come from seeds, as any implementation reads them. */
import { readFileSync } from "node:fs";
import t from "tap";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import { keysOfRoot, signedBy } from "../../../../lib/artifact/trust/edit.ts";
import { keyIdOf, rootSigner, signerRootKey } from "../../../../lib/artifact/trust/keys.ts";
import {
  anchoredRoot,
  isCountersigned,
  nextRoot,
  parseRoot,
  signaturesOn,
  signedBytesOf,
} from "../../../../lib/artifact/trust/root.ts";

interface Expected {
  keys: Record<string, { seed: string; public: string; id: string }>;
  versions: { version: number; digest: string; signers: string[]; canonical: string }[];
}

const folder = new URL("../../../vectors/trust/", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), "utf8");
const { keys, versions } = JSON.parse(read("expected.json")) as Expected;
const texts = versions.map(({ version }) => read(`${version}.root.json`));

t.test("keys have their ids", (t) => {
  for (const [name, { seed, public: hex, id }] of Object.entries(keys)) {
    const publicKey = publicKeyOf(Buffer.from(seed, "hex"));
    t.equal(Buffer.from(publicKey).toString("hex"), hex, name);
    t.equal(keyIdOf(signerRootKey(publicKey)), id, name);
    t.equal(rootSigner(Buffer.from(seed), name).key.keyval.public, hex, name);
  }
  t.end();
});

t.test("the chain is followed, and its canonical bytes are these", (t) => {
  let root = anchoredRoot(texts[0]!, "1");
  for (const [index, { version, digest, signers, canonical }] of versions.entries()) {
    if (index > 0) root = nextRoot(root, texts[index]!, String(version));
    t.match({ ...root }, { version, digest, signers, id: "rt_000102030405060708090a0b0c0d0e0f" });
    t.equal(signedBytesOf(root.document).toString(), canonical);
  }
  const first = parseRoot(texts[0]!, "1");
  const { id, public: hex } = keys["signer"]!;
  t.ok(isCountersigned(first, id, signerRootKey(Buffer.from(hex, "hex"))));
  t.notOk(isCountersigned(parseRoot(texts[1]!, "2"), id, signerRootKey(Buffer.from(hex, "hex"))));
  t.strictSame(
    keysOfRoot(first).signers.map(({ name }) => name),
    ["today’s signer ✓"],
  );
  t.end();
});

t.test("a signature is the same each time, and as it stands in the file", (t) => {
  const first = parseRoot(texts[0]!, "1");
  const alice = rootSigner(Buffer.from(keys["alice"]!.seed), "alice");
  const again = parseRoot(signedBy(first, alice), "again");
  const signatureIn = (root: typeof first) => root.document.signatures.find(({ keyid }) => keyid === keys["alice"]!.id);
  t.strictSame(signatureIn(again), signatureIn(first));
  t.match(signaturesOn(first, first), { threshold: 2, by: [keys["alice"]!.id, keys["bob"]!.id] });
  t.end();
});
