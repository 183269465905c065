// Holds: which signed texts of operators and hosts count (lib/artifact/sealed/signed-text.ts)
import t from "tap";
import { seal } from "../../../../lib/artifact/sealed/age.ts";
import { hostKeyOf, newHostSeed } from "../../../../lib/artifact/sealed/host-key.ts";
import { openSettings } from "../../../../lib/artifact/sealed/settings.ts";
import { signText } from "../../../../lib/artifact/sealed/signed-text.ts";
import { makeTerms, readTerms } from "../../../../lib/artifact/sealed/terms.ts";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";

const PROJECT = `prj_${"0".repeat(32)}`;
const key = hostKeyOf(newHostSeed());
const seed = newHostSeed();
const operator = Buffer.from(publicKeyOf(seed)).toString("hex");
/** Order of the group: another S of the same signature is S + L. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

const document = (more: object = {}) => ({
  ...{ t: "sealift-settings", v: 1, project: PROJECT, to: key.fingerprint, operator, number: 1 },
  ...{ made_at: "2026-01-01T00:00:00Z", apps: { web: { A: "1" } }, ...more },
});
const open = (text: string, operators = [operator]) =>
  openSettings(seal(Buffer.from(text), Buffer.from(key.x25519, "hex")), { key, project: PROJECT, operators });

t.test("a key of low order, by which anybody signs, is no operator's", async (t) => {
  for (const low of [`01${"00".repeat(31)}`, "00".repeat(32), `ec${"ff".repeat(30)}7f`]) {
    const signatures = [{ key: low, sig: `01${"00".repeat(63)}` }];
    const text = JSON.stringify({ signed: document({ operator: low }), signatures });
    t.throws(() => open(text, [low]), { code: "settings_invalid" });
    const terms = { ...{ t: "sealift-invite", v: 1, project: PROJECT, nonce: "0".repeat(32), invite_key: operator } };
    const facts = { labels: {}, uses: 1, expires_at: "2027-01-01T00:00:00Z", pins: "ab".repeat(16), operator: low };
    t.throws(() => readTerms(JSON.stringify({ signed: { ...terms, ...facts }, signatures })), {
      code: "terms_invalid",
    });
  }
});

t.test("a signature has one form: S is below the order of the group", async (t) => {
  const text = signText(document(), [seed]);
  t.match(open(text).signed, { number: 1 });
  const [, sig] = /"sig":"(\w+)"/.exec(text)!;
  const bytes = Buffer.from(sig!, "hex");
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString("hex")}`) + L;
  const other = Buffer.from(s.toString(16).padStart(64, "0"), "hex").reverse();
  const forged = text.replace(sig!, Buffer.concat([bytes.subarray(0, 32), other]).toString("hex"));
  t.throws(() => open(forged), { code: "settings_invalid" });
});

t.test("values are texts of Unicode, and the names of an object stand there once", async (t) => {
  const signed = (apps: unknown, change = (text: string) => text) => change(signText(document({ apps }), [seed]));
  for (const text of [
    signed({ web: { A: "1" } }, (one) => one.replace('"A":"1"', String.raw`"A":"\ud800"`)),
    signed({ web: { A: "a\0b" } }),
    signed({ web: { A: 1 } }),
    signed({ web: { "A B": "1" } }),
    signed({ web: { A: "1" } }, (one) => one.replace('"A":"1"', '"A":"1","A":"1"')),
    signed({ web: { A: "1" } }, (one) => one.replace('"A":"1"', '"__proto__":"1"')),
    signed({ web: { A: "1" } }, (one) => one.replace('"number":1', '"number":1.0')),
    signed({ web: { A: "1" } }, (one) => one.replace('"v":1', '"v":1,"more":1')),
    signed(Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`app-${index}`, {}]))),
  ])
    t.throws(() => open(text), { code: "settings_invalid" });
  const odd = { A: "line\r\n'two'", B: "\u{1F6A2}\ud83d\udea2" };
  t.strictSame(open(signed({ web: odd })).signed.apps["web"], odd);
  t.equal(
    Object.keys(
      open(signed(Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`app-${index}`, {}])))).signed.apps,
    ).length,
    200,
  );
});

t.test("terms count with their operator's signature alone", async (t) => {
  const facts = { project: PROJECT, labels: {}, uses: 1, pins: "ab".repeat(16), expires_at: "2027-01-01T00:00:00Z" };
  const { text, digest } = makeTerms(facts, seed);
  t.equal(readTerms(text).digest, digest);
  const twice = text.replace(/"signatures":\[(.*)\]/, '"signatures":[$1,$1]');
  t.throws(() => readTerms(twice), { code: "terms_invalid" });
  t.throws(() => readTerms(text.replace(operator, "ab".repeat(32))), { code: "terms_invalid" });
});
