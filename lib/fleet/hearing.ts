import { setTimeout as sleep } from "node:timers/promises";
import type { SettingsClient } from "../client/settings.ts";
import { deploymentError, type SealiftError } from "../contract/errors.ts";
import type { HostSettings } from "../contract/settings/records.ts";
import type { SettingsOutcome } from "../contract/settings/texts.ts";
import { namesText } from "../support/names-text.ts";
import { outcomeOf } from "./numbers.ts";
import type { Enrolled } from "./roll.ts";

/** Fewest hosts for which the whole list is read, instead of a row for each. */
const MANY_HOSTS = 8;
/** Time between two looks at the hub, in milliseconds; a list that takes long is read less often. */
const LOOK_MS = 1_000;

/** Document of a host that is at the hub. */
export interface Uploaded {
  host: Enrolled;
  number: number;
  /** SHA-256 of what is signed of it. */
  digest: string;
}

/** Way in which the outcomes of documents are awaited. */
export interface Hearing {
  client: SettingsClient;
  project: string;
  /** Longest wait, in milliseconds. */
  waitMs: number;
  /** Whether all hosts are heard before a failure counts. */
  toTheEnd: boolean;
  /** Number of hosts of later waves. */
  later: number;
  tell: (host: string, outcome: SettingsOutcome) => void;
  signal?: AbortSignal | undefined;
  lookMs?: number | undefined;
}

/** Host with what it has said of its document. */
interface Said<T> {
  uploaded: T;
  outcome: SettingsOutcome;
}

/**
 * Waits until each host has said what became of its document.
 *
 * @returns what they said, in the order in which it came
 * @throws DeploymentError `settings_failed` where one could not use it, `settings_unfinished` where one did not answer,
 *   and `settings_conflict` where one has another document
 */
export async function heardOf<T extends Uploaded>(documents: readonly T[], hearing: Hearing): Promise<Said<T>[]> {
  const { client, project, waitMs, toTheEnd, later, tell, signal, lookMs = LOOK_MS } = hearing;
  const said: Said<T>[] = [];
  const open = new Map(documents.map((one) => [one.host.name, one]));
  const end = performance.now() + waitMs;
  while (open.size > 0) {
    const began = performance.now();
    for await (const row of rowsOf([...open.keys()], client)) {
      const uploaded = open.get(row.host_id);
      const outcome = uploaded && answerOf(uploaded, row, project);
      if (outcome === undefined) continue;
      open.delete(row.host_id);
      said.push({ uploaded: uploaded!, outcome });
      tell(row.host_id, outcome);
    }
    const now = performance.now();
    const failed = said.filter(({ outcome }) => outcome.state !== "applied");
    const silent = [...open.keys()];
    if (failed.length > 0 && (!toTheEnd || silent.length === 0 || now >= end)) throw failure(failed, silent, later);
    if (silent.length === 0) break;
    if (now >= end) throw unfinished(silent, later, waitMs);
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
function answerOf({ host, number, digest }: Uploaded, row: HostSettings, project: string): SettingsOutcome | undefined {
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

function failure(failed: readonly Said<Uploaded>[], silent: readonly string[], later: number): SealiftError {
  const [{ uploaded, outcome }] = failed as [Said<Uploaded>];
  const { name } = uploaded.host;
  const code = outcome.code === null ? "" : ` (${outcome.code})`;
  const others =
    failed.length === 1 ? "" : ` So did ${namesText(failed.slice(1).map((one) => one.uploaded.host.name))}.`;
  const state = outcome.state === "not_back" ? "and is not back as it was" : "and is as it was before";
  const unheard =
    silent.length === 0 ? "" : ` ${namesText(silent)} ${silent.length === 1 ? "has" : "have"} not said anything yet.`;
  return deploymentError(
    "settings_failed",
    `${name} could not use its settings${code}, ${state}.${others}${unheard}${laterText(later)}`,
    {
      hint: `\`sealift doctor\` and the log of the watch on ${name} say why. Correct fleet.yaml or the host, and apply again; --all-at-once passes it by.`,
    },
  );
}

function unfinished(silent: readonly string[], later: number, waitMs: number): SealiftError {
  const their = silent.length === 1 ? "its" : "their";
  const [name] = silent as [string];
  return deploymentError(
    "settings_unfinished",
    `${namesText(silent)} did not say within ${waitMs / 1000} s what became of ${their} settings.${laterText(later)}`,
    {
      hint:
        later === 0
          ? "They take them when their watch asks the next time, and `sealift settings show` says so."
          : `They take them when their watch asks the next time: apply again then. Meanwhile --only HOST gives others theirs. If ${name} is gone for good: \`sealift settings remove ${name}\`; if it is being mended: \`sealift fleet out\`.`,
    },
  );
}
