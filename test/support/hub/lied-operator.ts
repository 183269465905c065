/** An operator whose hub lies to him about hosts and their settings. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { openSealed } from "../../../lib/artifact/sealed/age.ts";
import { type HostKey, hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import { signText } from "../../../lib/artifact/sealed/signed-text.ts";
import { MAX_SETTINGS_BYTES } from "../../../lib/contract/settings/limits.ts";
import type { SettingsOutcome } from "../../../lib/contract/settings/texts.ts";
import { DOUBLE_PROJECT } from "./settings-double.ts";
import { settingsFleet, termsOf } from "./settings-fleet.ts";

export const SECRET = "swordfish-4711";
const NOW = () => new Date().toISOString();

/** A fleet of two hosts that have settings, and a third one of the hub's own making, whose key the hub has. */
export async function liedToOperator(t: Test) {
  const fleet = await settingsFleet(t);
  const { seed, write, join: joins, apply, folder } = fleet;
  write(`settings:\n  - apps: { web: { A: one, SECRET: ${SECRET} } }\n`);
  const alone = (name: string) => termsOf(seed, { hosts: [name], uses: 1, labels: { env: "prod" } });
  const terms = { seven: alone("pier-7"), eight: alone("pier-8") };
  const [seven, eight] = [joins("pier-7", terms.seven), joins("pier-8", terms.eight)];
  t.match(await apply(), { code: 0 });
  const evil = hostKeyOf(newHostSeed());
  const change = (value = "two") => write(`settings:\n  - apps: { web: { A: ${value}, SECRET: ${SECRET} } }\n`);
  change();
  return {
    ...fleet,
    seven,
    eight,
    terms,
    alone,
    evil,
    change,
    lockText: () => readFileSync(join(folder, "fleet.lock"), "utf8"),
  };
}
export type LiedToOperator = Awaited<ReturnType<typeof liedToOperator>>;

/** Card with any content, signed by the keys that the hub has. */
export const forgedCard = (key: HostKey, more: object = {}, seeds: readonly Uint8Array[] = [key.seed]): string => {
  const { ed25519, x25519 } = key;
  const card = { t: "sealift-host", v: 1, terms: null, project: DOUBLE_PROJECT, name: "pier-9", x25519, ed25519 };
  return signText({ ...card, ...more }, seeds);
};

/** Signs what a host says of its settings. */
export const outcome = (key: HostKey, more: Partial<SettingsOutcome>): string =>
  signOutcome(
    {
      ...{
        project: DOUBLE_PROJECT,
        to: key.fingerprint,
        number: 2,
        digest: "ab".repeat(32),
        state: "applied",
        code: null,
      },
      ...{ ignored: [], at: NOW(), ...more },
    },
    key,
  );

export interface OperatorLie {
  name: string;
  lie: (world: LiedToOperator) => unknown;
  /** Exit code of `apply`. */
  exit: number;
  says?: RegExp;
  /** Hosts that get a document. */
  gets: readonly string[];
  words: string;
}

/** Returns a lie, with the exit code of `apply`, what it says, and the hosts that get a document all the same. */
export const told = (
  name: string,
  exit: number,
  says: RegExp | undefined,
  gets: readonly string[],
  lie: OperatorLie["lie"],
  words = "",
): OperatorLie => ({ name, exit, gets, lie, words, ...(says && { says }) });

export const BOTH: readonly string[] = ["pier-7", "pier-8"];

/** Tells lies, one after the other: nothing goes to a key that the operator does not know, and no secret to anybody. */
export async function hearLies(t: Test, lies: readonly OperatorLie[]): Promise<void> {
  for (const { name, lie, exit, says, gets, words } of lies)
    await t.test(name, async (t) => {
      const world = await liedToOperator(t);
      const { hub, hosts, apply, evil, lockText } = world;
      const before = hub.uploads.length;
      lie(world);
      const ended = await apply(words);
      t.equal(ended.code, exit, ended.stderr);
      if (says !== undefined) t.match(ended.stderr, says);
      const sent = hub.uploads.slice(before).flat();
      t.strictSame([...new Set(sent.map((one) => one.host_id))].sort(), [...gets]);
      for (const { host_id: host, to, sealed } of sent) {
        t.equal(to, hosts.get(host)?.key.fingerprint, "sealed to the key that the operator knows");
        t.throws(() => openSealed(Buffer.from(sealed, "base64"), evil.secret, MAX_SETTINGS_BYTES));
      }
      t.notMatch(lockText(), evil.fingerprint);
      for (const text of [ended.stdout, ended.stderr, lockText()]) t.notMatch(text, SECRET);
    });
}
