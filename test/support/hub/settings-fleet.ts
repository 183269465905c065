/** An operator with a fleet file, a hub in memory, and hosts that answer as a watch does. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { COMMANDS } from "../../../commands/shell/registry.ts";
import { makeCard } from "../../../lib/artifact/sealed/card.ts";
import { type HostKey, hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { openSettings, signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import { makeTerms, type NewTerms } from "../../../lib/artifact/sealed/terms.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import type { FleetLock } from "../../../lib/contract/files/fleet-lock.ts";
import type { InviteTerms, SettingsDocument, SettingsOutcome } from "../../../lib/contract/settings/texts.ts";
import { runHere } from "../programs/run-here.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { DOUBLE_KEY, DOUBLE_PROJECT, startSettingsDouble } from "./settings-double.ts";

const commands = COMMANDS.filter(({ paths }) => paths?.[0]?.[0] === "settings");

export interface SimulatedHost {
  name: string;
  key: HostKey;
  /** Document that it opened last. */
  document: SettingsDocument | undefined;
  /** State that it answers, or undefined for a host that is away. */
  answers: (Pick<SettingsOutcome, "state" | "code"> & Partial<Pick<SettingsOutcome, "ignored">>) | undefined;
}

const APPLIED = { state: "applied", code: null } as const;

/** Terms of an invite of an operator. */
export const termsOf = (
  seed: Uint8Array,
  more: Partial<InviteTerms> & { labels?: Record<string, string> } = {},
): NewTerms =>
  makeTerms(
    {
      ...{ project: DOUBLE_PROJECT, labels: {}, uses: 1, pins: "ab".repeat(16) },
      ...{ expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...more },
    },
    seed,
  );

export async function settingsFleet(t: Test) {
  const folder = temporaryFolder(t);
  const hub = await startSettingsDouble(t);
  const seed = randomBytes(32);
  const operator = Buffer.from(publicKeyOf(seed)).toString("hex");
  const keyFile = join(folder, "operator.key");
  writeFileSync(keyFile, seed.toString("hex"), { mode: 0o600 });
  const file = join(folder, "fleet.yaml");
  const hosts = new Map<string, SimulatedHost>();
  const write = (yaml: string): void => writeFileSync(file, `project: Harbour\n${yaml}`);

  /** Lets a host in with a card, under the name of its card unless the hub says another. */
  const join_ = (name: string, terms: NewTerms | undefined, key = hostKeyOf(newHostSeed()), at = name) => {
    const invited = terms && { digest: terms.digest, seed: terms.secret.seed };
    hub.put(at, makeCard({ project: DOUBLE_PROJECT, name }, key, invited), terms?.text);
    const host: SimulatedHost = { name: at, key, document: undefined, answers: APPLIED };
    hosts.set(at, host);
    return host;
  };

  /** Opens what the hub has for a host, and says what became of it. */
  const answer = (host: SimulatedHost, operators = [operator]): void => {
    const row = hub.rows.get(host.name)!;
    if (row.sealed === undefined || host.answers === undefined) return;
    const reader = { key: host.key, project: DOUBLE_PROJECT, operators };
    const { signed, digest } = openSettings(Buffer.from(row.sealed, "base64"), reader);
    host.document = signed;
    const at = new Date().toISOString();
    const facts = { project: DOUBLE_PROJECT, to: host.key.fingerprint, number: signed.number, digest, ignored: [], at };
    Object.assign(row, { outcome: signOutcome({ ...facts, ...host.answers }, host.key), outcome_at: at });
  };
  hub.onUpload = (documents) => {
    for (const { host_id: name } of documents) {
      const host = hosts.get(name);
      if (host !== undefined) answer(host);
    }
  };

  const run = (words: string, where: { typed?: string } = {}) => {
    Object.assign(process.env, { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: DOUBLE_KEY, XDG_CONFIG_HOME: folder });
    return runHere(commands, words.split(" "), where);
  };
  const apply = (more = "") => run(`settings apply ${file} --operator-key ${keyFile}${more === "" ? "" : ` ${more}`}`);
  const lock = async (): Promise<FleetLock> =>
    JSON.parse(await readFile(join(folder, "fleet.lock"), "utf8")) as FleetLock;
  return { folder, hub, seed, operator, keyFile, file, hosts, write, join: join_, answer, run, apply, lock };
}
