// Holds: how a trust root is made and changed (lib/artifact/trust/edit.ts)
import t from "tap";
import {
  changedRoot,
  countersigners,
  keysOfRoot,
  type NamedKey,
  newRoot,
  signedBy,
  withSignaturesOf,
} from "../../../../lib/artifact/trust/edit.ts";
import { type RootSigner, rootSigner } from "../../../../lib/artifact/trust/keys.ts";
import { anchoredRoot, nextRoot, parseRoot } from "../../../../lib/artifact/trust/root.ts";
import { heldKey } from "../../../support/forged/roots.ts";

const NOW = Date.UTC(2026, 1, 28, 12, 30, 15, 999);

function holder(name: string): RootSigner & { named: NamedKey } {
  const { privateKey } = heldKey();
  const signer = rootSigner(Buffer.from(privateKey.export({ format: "pem", type: "pkcs8" })), name);
  return { ...signer, named: { key: signer.key, name } };
}

const [alice, bob, carol, ci] = ["alice", "bob", "carol", "ci"].map(holder) as [
  ReturnType<typeof holder>,
  ReturnType<typeof holder>,
  ReturnType<typeof holder>,
  ReturnType<typeof holder>,
];
const keys = { root: [alice.named, bob.named, carol.named], signers: [ci.named], threshold: 2 };
const signAll = (text: string, ...by: RootSigner[]): string =>
  by.reduce((current, signer) => signedBy(parseRoot(current, "it"), signer), text);

t.test("a root is made, signed in turn, countersigned and changed", (t) => {
  const made = parseRoot(newRoot(keys, NOW), "1");
  t.match({ ...made }, { version: 1, expires: "2036-02-28T12:30:15Z", id: /^rt_[0-9a-f]{32}$/ });
  t.strictSame(keysOfRoot(made), keys);
  t.throws(() => anchoredRoot(made.text, "1"), { code: "trust_root_undersigned" });
  const first = anchoredRoot(signAll(made.text, alice, bob, ci), "1");
  t.strictSame(countersigners(first), [ci.named]);
  t.equal(parseRoot(signAll(first.text, alice), "1").document.signatures.length, 3, "a key signs once");

  const laptop = holder("laptop");
  const changed = changedRoot(first, { ...keysOfRoot(first), signers: [laptop.named] }, NOW + 1000);
  const second = nextRoot(first, signAll(changed, carol, bob), "2");
  t.match({ ...second }, { version: 2, id: first.id, expires: "2036-02-28T12:30:16Z" });
  t.strictSame(keysOfRoot(second).signers, [laptop.named]);
  t.notOk(second.text.includes(first.document.signatures[0]!.sig), "signatures are not carried over");
  t.end();
});

t.test("signatures of two copies are put together, of other roots they are not", (t) => {
  const made = newRoot(keys, NOW);
  const [one, two] = [signAll(made, alice), signAll(made, bob, alice)].map((text) => parseRoot(text, "it"));
  t.equal(anchoredRoot(withSignaturesOf(one!, two!), "it").document.signatures.length, 2);
  const other = parseRoot(signAll(newRoot(keys, NOW), alice), "it");
  t.throws(() => withSignaturesOf(one!, other), { code: "usage", message: /not copies of one root/ });
  t.end();
});

t.test("roots that no reader would take are not made", (t) => {
  const usage = { code: "usage" };
  t.throws(() => newRoot({ ...keys, threshold: 4 }, NOW), usage);
  t.throws(() => newRoot({ ...keys, threshold: 0 }, NOW), usage);
  t.throws(() => newRoot({ ...keys, root: [] }, NOW), usage);
  t.throws(() => newRoot({ ...keys, signers: [] }, NOW), usage);
  t.throws(() => newRoot({ ...keys, root: [...keys.root, alice.named] }, NOW), usage, "one key twice");
  t.throws(() => newRoot({ ...keys, signers: [alice.named] }, NOW), { message: /one of the root keys, too/ });
  const many = Array.from({ length: 17 }, (_, index) => holder(`h${index}`).named);
  t.throws(() => newRoot({ ...keys, root: many }, NOW), usage, "17 keys");
  t.match(parseRoot(newRoot({ root: many.slice(1), signers: [ci.named], threshold: 16 }, NOW), "it"), { version: 1 });
  t.end();
});

t.test("a name that no line can show is left out", (t) => {
  for (const name of ["", "two\nlines", "\u202etxt", "x".repeat(65)]) {
    const made = parseRoot(newRoot({ ...keys, signers: [{ ...ci.named, name }] }, NOW), "it");
    t.equal(keysOfRoot(made).signers[0]!.name, undefined, JSON.stringify(name));
  }
  const unnamed = (all: readonly NamedKey[]): NamedKey[] => all.map(({ key }) => ({ key }));
  t.notMatch(newRoot({ ...keys, root: unnamed(keys.root), signers: unnamed(keys.signers) }, NOW), "x-sealift-names");
  t.end();
});
