import { sealSettings } from "../artifact/sealed/settings.ts";
import type { SettingsClient } from "../client/settings.ts";
import { asSealiftError } from "../contract/errors.ts";
import { MAX_BATCH } from "../contract/settings/limits.ts";
import type { SettingsUpload } from "../contract/settings/records.ts";
import type { SettingsOutcome } from "../contract/settings/texts.ts";
import { heardOf, type Uploaded } from "./hearing.ts";
import { type FleetPlan, isServed, type PlannedHost, wavesOf } from "./plan.ts";
import type { Roll } from "./roll.ts";
import { untriedFor } from "./tried.ts";

/** Most bytes of the sealed texts of one upload: hubs take bodies of 16 MiB. */
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
/** Most hosts that are a wave of one, where none has tried its settings before. */
const MOST_FIRSTS = 3;

/** Progress of an apply. */
export type ApplyEvent =
  /** Hosts that have these settings of an apply before, and have not spoken of them: they are heard first. */
  | { event: "awaited"; hosts: string[] }
  /** Hosts out of service, which get their settings in the last wave: nobody waits for them. */
  | { event: "out_of_service"; hosts: string[] }
  /** A host of a wave of one has taken its settings, and no application has run with them. */
  | { event: "untried"; host_id: string; code: string; is_last: boolean }
  | { event: "uploaded"; wave: number; waves: number; hosts: string[] }
  | {
      event: "outcome";
      host_id: string;
      number: number;
      state: SettingsOutcome["state"];
      code: string | null;
      ignored: SettingsOutcome["ignored"];
    };

/** Ways in which an apply is carried out. */
export interface ApplyOptions {
  client: SettingsClient;
  roll: Roll;
  operatorSeed: Uint8Array;
  allAtOnce: boolean;
  /** Longest wait for the hosts of one wave, in milliseconds; undefined to wait for none. */
  waitMs: number | undefined;
  tell: (event: ApplyEvent) => void;
  signal?: AbortSignal;
  lookMs?: number;
}

/** Part of a plan that is carried out. */
type Planned = Pick<FleetPlan, "planned" | "unheard">;

type Upload = SettingsUpload["documents"][number];

/** Host with the document that was made for it. */
interface Made extends Uploaded {
  planned: PlannedHost;
  upload: Upload;
}

/**
 * Uploads settings wave by wave, and waits for what the hosts say of them.
 *
 * @throws DeploymentError `settings_conflict`, `settings_failed` at the first host that could not use them, and
 *   `settings_unfinished` where hosts did not answer
 */
export async function carryOut({ planned, unheard }: Planned, options: ApplyOptions): Promise<void> {
  const { waitMs, allAtOnce, tell } = options;
  const isAtOnce = allAtOnce || waitMs === undefined;
  const waves = wavesOf(planned, isAtOnce);
  if (!isAtOnce && unheard.length > 0) {
    tell({ event: "awaited", hosts: unheard.map(({ host }) => host.name) });
    await heard(unheard, planned.length, waitMs, options);
  }
  const out = new Set(planned.some(isServed) ? planned.filter((one) => !isServed(one)) : []);
  if (waitMs !== undefined && out.size > 0)
    tell({ event: "out_of_service", hosts: Array.from(out, ({ host }) => host.name) });
  let isTried = false;
  for (let index = 0; index < waves.length; index++) {
    const wave = waves[index]!;
    const made = await upload(wave, options);
    tell({ event: "uploaded", wave: index + 1, waves: waves.length, hosts: wave.map(({ host }) => host.name) });
    if (waitMs === undefined) continue;
    const later = waves.slice(index + 1).flat();
    const awaited = made.filter((one) => !out.has(one.planned));
    const [first] = await heard(awaited, later.length, waitMs, options);
    const code = first && untriedFor(first.uploaded.planned.content.apps, first.outcome);
    isTried ||= code === undefined;
    if (isTried || later.length === 0) continue;
    const isLast = index === MOST_FIRSTS - 1;
    isTried = isLast;
    tell({ event: "untried", host_id: first!.uploaded.host.name, code: code!, is_last: isLast });
    // Another host is the first one in its place.
    if (!isLast) waves.splice(index + 1, Infinity, ...wavesOf(later, false));
  }
}

/** Waits for the outcomes of documents. @param later number of hosts of later waves */
const heard = <T extends Uploaded>(
  documents: readonly T[],
  later: number,
  waitMs: number,
  { client, roll, allAtOnce, tell, signal, lookMs }: ApplyOptions,
) =>
  heardOf(documents, {
    ...{ client, project: roll.project, waitMs, toTheEnd: allAtOnce, later, signal, lookMs },
    tell: (host_id, { number, state, code, ignored }) =>
      tell({ event: "outcome", host_id, number, state, code, ignored }),
  });

/** Seals documents, and yields as many as one upload takes. */
function* batchesOf(wave: readonly PlannedHost[], { roll, operatorSeed }: ApplyOptions): Generator<Made[]> {
  let batch: Made[] = [];
  let bytes = 0;
  const made_at = new Date().toISOString();
  for (const planned of wave) {
    const { host, row, number, content } = planned;
    const document = { project: roll.project, to: host.fingerprint, number, made_at, apps: content.apps };
    const { sealed, digest } = sealSettings(document, host.x25519, operatorSeed);
    const text = sealed.toString("base64");
    if (batch.length === MAX_BATCH || bytes + text.length > MAX_BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    const upload = { host_id: host.name, to: host.fingerprint, number, follows: row.number, sealed: text };
    batch.push({ planned, host, number, digest, upload });
    bytes += text.length;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Uploads the documents of a wave. The roll says before which numbers are about to be used, and after which were: a
 * program that ends between uploads all of them again.
 */
async function upload(wave: readonly PlannedHost[], options: ApplyOptions): Promise<Made[]> {
  const { client, roll } = options;
  for (const { host, number } of wave) roll.put({ ...host, pending: number });
  await roll.save();
  const made: Made[] = [];
  try {
    for (const batch of batchesOf(wave, options)) {
      await client.upload(batch.map((one) => one.upload));
      for (const one of batch) record(one, roll);
      made.push(...batch);
    }
  } catch (error) {
    // Only an answer says for sure that the hub has taken none of the batch.
    const { status } = asSealiftError(error);
    if (status !== undefined && status < 500) for (const { host } of wave.slice(made.length)) roll.put(host);
    throw error;
  } finally {
    await roll.save();
  }
  return made;
}

/** Notes in the roll that the hub has taken a document. */
function record({ planned: { host, number, content }, digest: document }: Made, roll: Roll): void {
  const { pending: _pending, ...facts } = host;
  roll.keepContent(content.id!, content.digests as Record<string, Record<string, string>>);
  roll.put({ ...facts, number, document, content: content.id! });
}
