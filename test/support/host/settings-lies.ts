/** Lies of a hub about the settings of a host, each with what the host says to it. */
import { randomBytes } from "node:crypto";
import { seal } from "../../../lib/artifact/sealed/age.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { sealSettings, signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import { signText } from "../../../lib/artifact/sealed/signed-text.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import { MAX_SEALED_TEXT, MAX_SETTINGS_BYTES } from "../../../lib/contract/settings/limits.ts";
import { endless, type Lie, says, status } from "../hub/lying-settings.ts";
import { type LiarFacts, lieOn, type SettingsLie } from "./other-lies.ts";

const APPS = { web: { SECRET: "forged", LOG_LEVEL: "forged" } };
const AT = "2026-01-01T00:00:00Z";
const hex = (seed: Uint8Array): string => Buffer.from(publicKeyOf(seed)).toString("hex");

/** Hands over a sealed text. */
const hands =
  (sealed: (facts: LiarFacts) => Buffer, more: object = {}) =>
  (facts: LiarFacts): Lie =>
    says({ to: facts.key.fingerprint, number: facts.number + 1, sealed: sealed(facts).toString("base64"), ...more });

/** Document that would be this host's next one, with fields changed. */
function documentOf(facts: LiarFacts, more: object = {}, reader = facts.key, seed = facts.operatorSeed): Buffer {
  const { project, number } = facts;
  const document = { project, to: facts.key.fingerprint, number: number + 1, made_at: AT, apps: APPS, ...more };
  return sealSettings(document, reader.x25519, seed).sealed;
}

/** Seals any text to the host. */
const sealedText = ({ key }: LiarFacts, text: string | Buffer): Buffer =>
  seal(Buffer.from(text), Buffer.from(key.x25519, "hex"));

/** Signed part of the host's next document, with fields changed. */
const signedPart = ({ project, key, number, operatorSeed }: LiarFacts, more: object = {}) => ({
  ...{ t: "sealift-settings", v: 1, project, to: key.fingerprint, operator: hex(operatorSeed) },
  ...{ number: number + 1, made_at: AT, apps: APPS, ...more },
});

/** Signs what the host would refuse to be made, as an operator's broken program might. */
const signedAnyhow = (facts: LiarFacts, more: object, change = (text: string) => text): Buffer =>
  sealedText(facts, change(signText(signedPart(facts, more), [facts.operatorSeed])));

function flipped(sealed: Buffer, at: number): Buffer {
  const changed = Buffer.from(sealed);
  changed[at < 0 ? sealed.length + at : at]! ^= 1;
  return changed;
}

/** Puts another stanza before that of the host, or in its place. */
const withStanza = (sealed: Buffer, isInPlace: boolean): Buffer => {
  const text = sealed.toString("latin1");
  const scrypt = `-> scrypt ${"A".repeat(22)} 18\n${"A".repeat(43)}\n`;
  const own = /-> X25519 [^\n]+\n[^\n]+\n/.exec(text)![0];
  return Buffer.from(text.replace(own, isInPlace ? scrypt : scrypt + own), "latin1");
};

const own = lieOn(undefined);

/** Lies on the route of the host's settings. */
export const SETTINGS_LIES: readonly SettingsLie[] = [
  own(
    "settings that are sealed to another host",
    "sealed_invalid",
    hands((facts) => documentOf(facts, {}, hostKeyOf(newHostSeed()))),
  ),
  own(
    "settings of another host, sealed to this one",
    "settings_other",
    hands((facts) => documentOf(facts, { to: "ab".repeat(32) })),
  ),
  own(
    "settings of another project of the operator",
    "settings_other",
    hands((facts) => documentOf(facts, { project: `prj_${"f".repeat(32)}` })),
  ),
  own(
    "settings of an operator who is not pinned",
    "settings_operator",
    hands((facts) => documentOf(facts, {}, facts.key, randomBytes(32))),
  ),
  own(
    "settings that name the operator, signed by another",
    "settings_invalid",
    hands((facts) => sealedText(facts, signText(signedPart(facts), [randomBytes(32)]))),
  ),
  own(
    "settings that name the operator, signed by another in the operator's name",
    "settings_invalid",
    hands((facts) =>
      sealedText(
        facts,
        signText(signedPart(facts), [randomBytes(32)]).replace(
          /"key":"[0-9a-f]+"/,
          `"key":"${hex(facts.operatorSeed)}"`,
        ),
      ),
    ),
  ),
  own(
    "settings with two signatures of the operator",
    "settings_invalid",
    hands((facts) => sealedText(facts, signText(signedPart(facts), [facts.operatorSeed, facts.operatorSeed]))),
  ),
  own(
    "the first settings again",
    "settings_old",
    hands(({ first }) => first),
  ),
  own(
    "the first settings again, with a new number beside them",
    "settings_old",
    hands(({ first }) => first, { number: Number.MAX_SAFE_INTEGER }),
  ),
  own(
    "other settings of the same number",
    "settings_old",
    hands((facts) => documentOf(facts, { number: facts.number })),
  ),
  own(
    "the newest settings as if they were newer",
    undefined,
    hands(({ newest }) => newest),
  ),
  own(
    "a low number beside the newest settings, and another host's fingerprint",
    undefined,
    hands(({ newest }) => newest, { number: 1, to: "cd".repeat(32) }),
  ),
  own(
    "a flipped bit in the header",
    "sealed_invalid",
    hands(({ newest }) => flipped(newest, 40)),
  ),
  own(
    "a flipped bit in the payload",
    "sealed_invalid",
    hands(({ newest }) => flipped(newest, 300)),
  ),
  own(
    "a flipped bit in the last byte",
    "sealed_invalid",
    hands(({ newest }) => flipped(newest, -1)),
  ),
  own(
    "settings without their padding",
    "sealed_invalid",
    hands(({ newest }) => newest.subarray(0, -200)),
  ),
  own(
    "settings cut to their header",
    "sealed_invalid",
    hands(({ newest }) => newest.subarray(0, 190)),
  ),
  own(
    "bytes behind the settings",
    "sealed_invalid",
    hands(({ newest }) => Buffer.concat([newest, Buffer.alloc(32)])),
  ),
  own(
    "a second stanza",
    "sealed_invalid",
    hands(({ newest }) => withStanza(newest, false)),
  ),
  own(
    "a password in place of the host's key",
    "sealed_invalid",
    hands(({ newest }) => withStanza(newest, true)),
  ),
  own(
    "settings that nobody has sealed",
    "sealed_invalid",
    hands((facts) => Buffer.from(signText(signedPart(facts), [facts.operatorSeed]))),
  ),
  own(
    "more than a host takes, sealed to it",
    "settings_invalid",
    hands((facts) => sealedText(facts, Buffer.alloc(MAX_SETTINGS_BYTES + 1, " "))),
  ),
  own(
    "an outcome of the host in place of settings",
    "settings_invalid",
    hands((facts) =>
      sealedText(
        facts,
        signOutcome(
          {
            project: facts.project,
            to: facts.key.fingerprint,
            number: 9,
            digest: "ab".repeat(32),
            state: "applied",
            code: null,
            ignored: [],
            at: AT,
          },
          facts.key,
        ),
      ),
    ),
  ),
  own(
    "a text of another kind, signed by the operator",
    "settings_invalid",
    hands((facts) => signedAnyhow(facts, { t: "sealift-kit-terms" })),
  ),
  own(
    "settings with a key twice",
    "settings_invalid",
    hands((facts) => signedAnyhow(facts, {}, (text) => text.replace('"v":1', '"v":1,"v":1'))),
  ),
  own(
    "settings with __proto__",
    "settings_invalid",
    hands((facts) => signedAnyhow(facts, {}, (text) => text.replace('"apps":{', '"apps":{"__proto__":{},'))),
  ),
  own(
    "a number that is rounded",
    "settings_invalid",
    hands((facts) => signedAnyhow(facts, { number: 7 }, (text) => text.replace('"number":7', '"number":7e0'))),
  ),
  own(
    "a value with a NUL",
    "settings_invalid",
    hands((facts) => signedAnyhow(facts, { apps: { web: { SECRET: "a\0b" } } })),
  ),
  own(
    "settings that are no JSON",
    "settings_invalid",
    hands((facts) => sealedText(facts, "SECRET=forged")),
  ),
  own("a text that is longer than any that is sealed", "bad_answer", ({ key, number }) =>
    says({ to: key.fingerprint, number: number + 1, sealed: "A".repeat(MAX_SEALED_TEXT + 4) }),
  ),
  own("an answer of 5 MiB", "bad_answer", () => says(`{"sealed":"${"A".repeat(5 * 1024 * 1024)}"}`)),
  own("an endless answer", "bad_answer", () => endless),
  own(
    "a page to sign in",
    "bad_answer",
    () => (response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>"),
  ),
  own("half an answer", /^(?:bad_answer|connection_failed)$/, () => (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": 900 }).write('{"to":');
    setTimeout(() => response.destroy(), 20);
  }),
  own("silence", "timed_out", () => () => {}),
  own("no settings at all", undefined, () => status(404)),
  own("settings that are gone", /./, () => status(410)),
  own("a fault", "hub_unavailable", () => status(500)),
  own("a key that it does not know", /./, () => status(401)),
  own("nothing where settings belong", /./, () => status(204)),
  own(
    "settings that have not changed, which nobody asked",
    /./,
    () => (response) => response.writeHead(304, { etag: '"forged"' }).end(),
  ),
  own("a way to another server, which has forged ones", undefined, ({ elsewhere }) =>
    status(307, { location: `${elsewhere}/settings` }),
  ),
  own(
    "a way in a circle",
    "redirect_loop",
    () =>
      (response, _truth, { url }) =>
        response.writeHead(307, { location: url! }).end(),
  ),
];
