// Holds: which version of a trust root follows another one (lib/artifact/trust/root.ts)
import t from "tap";
import {
  anchoredRoot,
  isCountersigned,
  nextRoot,
  parseRoot,
  signaturesOn,
} from "../../../../lib/artifact/trust/root.ts";
import type { SignedRoot } from "../../../../lib/contract/trust/root.ts";
import { p256Key } from "../../../support/forged/p256-roots.ts";
import { forgedRoot, heldKey, rootChain, rootIdOf } from "../../../support/forged/roots.ts";

const chain = rootChain();
const [signer, other] = [heldKey(), heldKey()];
const [a, b, c] = chain.holders as [typeof signer, typeof signer, typeof signer];
const first = anchoredRoot(chain.version(1, [signer]), "1");

t.test("any two of three holders make the next version", (t) => {
  for (const by of [
    [a, b],
    [b, c],
    [c, a],
    [a, b, c],
  ])
    t.match(nextRoot(first, chain.version(2, [other], { by }), "2"), { version: 2, signers: [other.hex] });
  for (const by of [[], [a], [b, signer], [a, heldKey()]])
    t.throws(() => nextRoot(first, chain.version(2, [other], { by }), "2"), { code: "trust_root_undersigned" });
  t.end();
});

t.test("new holders sign together with those before", (t) => {
  const holders = [a, heldKey(), heldKey()];
  const [, d, e] = holders as [typeof a, typeof a, typeof a];
  const next =
    (by: (typeof a)[], threshold = 2) =>
    () =>
      nextRoot(first, chain.version(2, [other], { holders, threshold, by }), "2");
  t.match(next([a, b, d])(), { version: 2 });
  t.match(next([b, c, d, e])(), { version: 2 });
  t.throws(next([a, d, e]), { code: "trust_root_undersigned", message: /1 of 2 signatures by the keys of version 1/ });
  t.throws(next([a, b]), { code: "trust_root_undersigned", message: /1 of 2 signatures by its own keys/ });
  t.throws(next([a, b, d], 3), { code: "trust_root_undersigned", message: /2 of 3 signatures by its own keys/ });
  t.end();
});

t.test("a version of another root, and one that does not follow, are refused with codes of their own", (t) => {
  const other =
    (more: object, version = 2) =>
    () =>
      nextRoot(first, chain.version(version, [signer], more), "it");
  t.throws(other({ id: rootIdOf() }), { code: "trust_root_other", exitCode: 4 });
  for (const version of [1, 3, 2 ** 31 - 1]) t.throws(other({}, version), { code: "trust_root_order", exitCode: 4 });
  t.throws(() => nextRoot(first, "{}", "it"), { code: "trust_root_invalid", message: /^it is not a trust root/ });
  t.end();
});

t.test("the digest is of what is signed: signatures, spaces and the order of keys do not count", (t) => {
  const text = chain.version(1, [signer], { by: [c] });
  t.equal(parseRoot(text, "x").digest, first.digest);
  const { signatures, signed } = JSON.parse(text) as { signatures: unknown; signed: object };
  const reordered = JSON.stringify(
    { signed: Object.fromEntries(Object.entries(signed).toReversed()), signatures },
    null,
    4,
  );
  t.equal(parseRoot(reordered, "x").digest, first.digest);
  t.not(parseRoot(chain.version(1, [other]), "x").digest, first.digest);
  t.end();
});

t.test("a version says whose signatures it has, by the keys of any version", (t) => {
  const root = parseRoot(chain.version(2, [other], { by: [b, signer] }), "2");
  t.strictSame(signaturesOn(root, first), { threshold: 2, by: [b.id], missing: [a.id, c.id] });
  t.end();
});

t.test("a signer has countersigned a version whose very bytes it has signed", (t) => {
  const by = (keys: (typeof a)[]) => parseRoot(chain.version(1, [signer, other], { by: keys }), "1");
  t.ok(isCountersigned(by([a, signer]), signer.id, signer.key));
  t.notOk(isCountersigned(by([a, signer]), other.id, other.key), "it has not signed");
  t.notOk(isCountersigned(by([a, signer]), signer.id, other.key), "another key has");
  t.end();
});

t.test("a version whose roles and keys do not agree is refused, whoever signed it", (t) => {
  const whole = { id: chain.id, version: 1, holders: [a, b], threshold: 2, signers: [signer] };
  const idle = heldKey();
  const roots = (plan: object) => () => parseRoot(forgedRoot({ ...whole, ...plan }).text, "it");
  t.match(roots({})(), { version: 1 });
  for (const [message, plan] of [
    [
      /no role names the key/,
      { change: (signed: SignedRoot) => ({ ...signed, keys: { ...signed.keys, [idle.id]: idle.key } }) },
    ],
    [
      /names the key .* which is not there/,
      {
        change: ({ keys, ...signed }: SignedRoot) => ({ ...signed, keys: { [a.id]: keys[a.id], [b.id]: keys[b.id] } }),
      },
    ],
    [/it names the key .* which is not there/, { names: { [idle.id]: "Ada" } }],
    [/asks for 3 signatures of 2 keys/, { threshold: 3 }],
    [/one key has signed it twice/, { by: [a, a] }],
    [/its signers of versions are Ed25519 keys only/, { signers: [signer, p256Key()] }],
  ] as const)
    t.throws(roots(plan), { code: "trust_root_invalid", message });
  t.end();
});
