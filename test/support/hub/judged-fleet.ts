/** A roll with hosts, and what a hub that lists them says of their settings. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Test } from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import type { SettingsOutcome } from "../../../lib/contract/settings/texts.ts";
import type { Judged } from "../../../lib/fleet/admission.ts";
import { contentId, valueDigest } from "../../../lib/fleet/digests.ts";
import { type Enrolled, Roll } from "../../../lib/fleet/roll.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { DOUBLE_PROJECT } from "./settings-double.ts";

const DOCUMENT = "cd".repeat(32);

/** Facts of a host: by default roll, hub and host know the same document, which is applied. */
export interface JudgedFacts {
  roll?: Partial<Enrolled>;
  /** Number at the hub; null for none. */
  hub?: number | null;
  /** Difference of its outcome to an applied one of the roll's document; null for a host that has said nothing. */
  said?: Partial<SettingsOutcome> | null;
  heardAt?: string;
  out_of_service?: string;
}

/** Makes a roll whose hosts have `web.A` of the value `one` by default, and judges them all as known. */
export async function judgedFleet(t: Test, hosts: Readonly<Record<string, JudgedFacts>>) {
  const folder = temporaryFolder(t);
  const operatorSeed = randomBytes(32);
  const roll = await Roll.read(join(folder, "fleet.lock"), DOUBLE_PROJECT);
  const content = { web: { A: valueDigest(operatorSeed, DOUBLE_PROJECT)("web", "A", "one") } };
  const judged = Object.entries(hosts).map(([name, facts]): Judged => {
    const key = hostKeyOf(newHostSeed());
    const { x25519, ed25519, fingerprint } = key;
    const last = { number: 3, document: DOCUMENT, content: contentId(content) };
    const host = { name, x25519, ed25519, fingerprint, labels: {}, named: true, terms: null, ...last, ...facts.roll };
    roll.put(host);
    const { hub: number = host.number, said = {}, heardAt: at = "2026-01-01T00:00:00Z", out_of_service } = facts;
    const applied = { number: host.number, digest: DOCUMENT, state: "applied" as const, code: null, ignored: [] };
    const says = { project: DOUBLE_PROJECT, to: fingerprint, ...applied, at, ...said };
    const row = {
      ...{ host_id: name, card: null, terms: null, number, to: number === null ? null : fingerprint },
      ...{ uploaded_at: null, uploaded_by: null, outcome: said === null ? null : signOutcome(says, key) },
      ...{ outcome_at: said === null ? null : at, ...(out_of_service !== undefined && { out_of_service }) },
    };
    return { row, state: "known", host };
  });
  roll.keepContent(contentId(content), content);
  return { folder, operatorSeed, roll, judged };
}
