import { setTimeout as sleep } from "node:timers/promises";
import { sealSettings } from "../artifact/sealed/settings.ts";
import type { SettingsClient } from "../client/settings.ts";
import { deploymentError, SealiftError } from "../contract/errors.ts";
import { MAX_BATCH } from "../contract/settings/limits.ts";
import type { HostSettings, SettingsUpload } from "../contract/settings/records.ts";
import type { SettingsOutcome } from "../contract/settings/texts.ts";
import { namesText, outcomeOf } from "./numbers.ts";
import { type PlannedHost, wavesOf } from "./plan.ts";
import type { Roll } from "./roll.ts";
import { untriedFor } from "./tried.ts";

/** Most bytes of the sealed texts of one upload: hubs take bodies of 16 MiB. */
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
/** Fewest hosts for which the whole list is read, instead of a row for each. */
const MANY_HOSTS = 8;
/** Time between two looks at the hub, in milliseconds; a list that takes long is read less often. */
const LOOK_MS = 1_000;

/** Most hosts that are a wave of one, where none has tried its settings before. */
const MOST_FIRSTS = 3;

/** Progress of an apply. */
export type ApplyEvent =
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

type Upload = SettingsUpload["documents"][number];

/** Host with the document that was made for it. */
interface Made {
  planned: PlannedHost;
  digest: string;
  upload: Upload;
}

/**
 * Uploads settings wave by wave, and waits for what the hosts say of them.
 *
 * @throws DeploymentError `settings_conflict`, `settings_failed` at the first host that could not use them, and
 *   `settings_unfinished` where hosts did not answer
 */
export async function carryOut(planned: readonly PlannedHost[], options: ApplyOptions): Promise<void> {
  const { waitMs, allAtOnce, tell } = options;
  const waves = wavesOf(planned, allAtOnce || waitMs === undefined);
  let isTried = false;
  for (let index = 0; index < waves.length; index++) {
    const wave = waves[index]!;
    const made = await upload(wave, options);
    tell({ event: "uploaded", wave: index + 1, waves: waves.length, hosts: wave.map(({ host }) => host.name) });
    if (waitMs === undefined) continue;
    const later = waves.slice(index + 1).flat();
    const said = await outcomes(made, later.length, waitMs, options);
    const [first] = said;
    const code = first && untriedFor(first.planned.content.apps, first.outcome);
    isTried ||= code === undefined || wave.length > 1;
    if (isTried || later.length === 0) continue;
    const isLast = index === MOST_FIRSTS - 1;
    isTried = isLast;
    tell({ event: "untried", host_id: first!.planned.host.name, code: code!, is_last: isLast });
    // Another host is the first one in its place.
    if (!isLast) waves.splice(index + 1, Infinity, ...wavesOf(later, false));
  }
}

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
    if (batch.length === MAX_BATCH || (batch.length > 0 && bytes + text.length > MAX_BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    const upload = { host_id: host.name, to: host.fingerprint, number, follows: row.number, sealed: text };
    batch.push({ planned, digest, upload });
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
    const isRefused = error instanceof SealiftError && error.status !== undefined && error.status < 500;
    if (isRefused) for (const { host } of wave.slice(made.length)) roll.put(host);
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

/** Host with what it has said of its document. */
interface Said {
  planned: PlannedHost;
  outcome: SettingsOutcome;
}

/** Waits until each host has said what became of its document. @param later number of hosts of later waves */
async function outcomes(made: readonly Made[], later: number, waitMs: number, options: ApplyOptions): Promise<Said[]> {
  const said: Said[] = [];
  const { tell, signal, lookMs = LOOK_MS } = options;
  const open = new Map(made.map((one) => [one.planned.host.name, one]));
  const end = performance.now() + waitMs;
  while (open.size > 0) {
    const began = performance.now();
    const failed: { host: string; outcome: SettingsOutcome }[] = [];
    for await (const row of rowsOf([...open.keys()], options.client)) {
      const one = open.get(row.host_id);
      const outcome = one && answerOf(one, row, options.roll.project);
      if (outcome === undefined) continue;
      open.delete(row.host_id);
      said.push({ planned: one!.planned, outcome });
      const { number, state, code, ignored } = outcome;
      tell({ event: "outcome", host_id: row.host_id, number, state, code, ignored });
      if (state !== "applied") failed.push({ host: row.host_id, outcome });
    }
    if (failed.length > 0) throw failure(failed, later);
    if (open.size === 0) break;
    const now = performance.now();
    if (now >= end) throw unfinished([...open.keys()], later, waitMs);
    await sleep(Math.min(Math.max(lookMs, 5 * (now - began)), end - now), undefined, { ...(signal && { signal }) });
  }
  return said;
}

async function* rowsOf(names: readonly string[], client: SettingsClient): AsyncGenerator<HostSettings> {
  if (names.length >= MANY_HOSTS) yield* client.list();
  else for (const name of names) yield* client.list(name);
}

/**
 * Returns what a host has said of its document; undefined before that.
 *
 * @throws DeploymentError `settings_conflict` where it has another document
 */
function answerOf({ planned, digest }: Made, row: HostSettings, project: string): SettingsOutcome | undefined {
  const { host, number } = planned;
  const outcome = outcomeOf(row, host, project);
  if (outcome === undefined || outcome.number < number) return undefined;
  if (outcome.number === number && outcome.digest === digest) return outcome;
  const what = outcome.number === number ? "another document with the number" : "a document with the number";
  throw deploymentError(
    "settings_conflict",
    `${host.name} has ${what} ${outcome.number}, and not that of this apply.`,
    {
      hint: "Another operator has applied at the same time. Take the newest fleet.lock (git pull), and run the command again.",
    },
  );
}

const laterText = (later: number): string =>
  later === 0
    ? ""
    : later === 1
      ? " 1 host of a later wave was left as it is."
      : ` ${later} hosts of later waves were left as they are.`;

function failure(failed: readonly { host: string; outcome: SettingsOutcome }[], later: number): SealiftError {
  const [{ host, outcome }] = failed as [{ host: string; outcome: SettingsOutcome }];
  const code = outcome.code === null ? "" : ` (${outcome.code})`;
  const others = failed.length === 1 ? "" : ` So did ${namesText(failed.slice(1).map((one) => one.host))}.`;
  const state = outcome.state === "not_back" ? "and is not back as it was" : "and is as it was before";
  return deploymentError(
    "settings_failed",
    `${host} could not use its settings${code}, ${state}.${others}${laterText(later)}`,
    {
      hint: `\`sealift doctor\` and the log of the watch on ${host} say why. Correct fleet.yaml or the host, and apply again; --all-at-once passes it by.`,
    },
  );
}

const unfinished = (open: readonly string[], later: number, waitMs: number): SealiftError =>
  deploymentError(
    "settings_unfinished",
    `${namesText(open)} did not say within ${waitMs / 1000} s what became of ${open.length === 1 ? "its" : "their"} settings.${laterText(later)}`,
    { hint: "They take them when their watch asks the next time. Apply again to go on with the others." },
  );
