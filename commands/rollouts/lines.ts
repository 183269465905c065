import { lacksHost, percentOf } from "../../lib/contract/rollout-terms.ts";
import type { AwaitedHost, FailingHost, RolloutRecord, WaitingFor } from "../../lib/contract/rollouts/records.ts";
import { WAIT_TEXTS, WAIT_WORDS } from "../../lib/contract/surfaces/host-record.ts";
import { counted } from "../../lib/support/counted.ts";
import { bar, span } from "../../lib/tui/text.ts";
import { timeText } from "../shell/output/listing.ts";

const WAITS: Record<WaitingFor, string> = {
  publication: "waits for the publication",
  window: "waits for its window",
  hosts: "waits for hosts",
  soak: "soaks",
  approval: "waits for approval",
};

/** Names the target of a rollout as people do: a project by its name, if the hub tells it. */
const targetText = ({ target, name }: RolloutRecord): string =>
  name !== null && target.startsWith("project:") ? `project:${name}` : target;

/** Describes the state of a rollout in one line. */
export function stateText(rollout: RolloutRecord, now: number): string {
  const { version, state, reason, waiting_for: waiting, until, open, waves } = rollout;
  const sum = (key: "hosts" | "done" | "failing"): number => waves.reduce((total, wave) => total + wave[key], 0);
  const left = until === null ? "" : `, ${span(Math.max(0, Date.parse(until) - now))} left`;
  const why = waiting === null ? (reason === null ? "" : `: ${reason}`) : `: ${waitText(rollout, waiting)}${left}`;
  const all = sum("hosts");
  const hosts = `${sum("done")} of ${counted(all, "host")} ${all === 1 ? "runs" : "run"} ${version}, ${sum("failing")} failing`;
  return `${state}${why.replace(/\.$/, "")}; ${open} of ${counted(waves.length, "wave")} open, ${hosts}`;
}

function waitText({ waves, open }: RolloutRecord, waiting: WaitingFor): string {
  const counts = waves.map(({ wave, done }) => ({ isLabelled: percentOf(wave) === undefined, done }));
  if (waiting !== "hosts" || !lacksHost(counts, open)) return WAITS[waiting];
  const { wave } = waves[open - 1]!;
  return `waits for a host${percentOf(wave) === undefined ? ` with ${wave}` : ""}, or for approval`;
}

const uncountedText = ({ rules }: RolloutRecord): string =>
  rules.bound_hosts ? "without a key of their own" : "new since the start";

/** Hosts named in one sentence. */
const NAMED = 5;

/** Describes a host that a rollout waits for: what it runs, and when it was last heard of. */
function awaitedText({ host_id: host, running_version: running, ...facts }: AwaitedHost, version: string, now: number) {
  const { waits, error_message: error } = facts;
  if (waits !== null) return `${host}: ${WAIT_WORDS[waits]}${error === null ? "" : `: ${error}`}`;
  const past = facts.has_installed ? `went back from ${version}` : `has never installed ${version}`;
  const heard = `last heard of ${span(Math.max(0, now - Date.parse(facts.last_heard_at)))} ago`;
  return `${host}: runs ${running ?? "nothing"}, ${past}, ${heard}`;
}

/** Names the hosts that a rollout waits for in one sentence, without its full stop; undefined for none. */
export function awaitedSentence({ awaited, awaited_hosts: all }: RolloutRecord, now: number): string | undefined {
  if (awaited.length === 0) return undefined;
  const named = awaited.slice(0, NAMED).map(({ host_id: host, last_heard_at: at, waits }) => {
    const heard = `last heard of ${span(Math.max(0, now - Date.parse(at)))} ago`;
    return `${host} (${waits === null ? heard : WAIT_TEXTS[waits]})`;
  });
  return `It waits for ${named.join(", ")}${all > named.length ? ` and ${all - named.length} more` : ""}`;
}

/** Counts the hosts that wait though the version is not to blame: `2 waiting for settings, 1 interrupted`. */
const waitsText = (waits: RolloutRecord["waits"]): string =>
  waits.map(({ cause, hosts }) => `${hosts} ${WAIT_TEXTS[cause]}`).join(", ");

const failingLine = ({ host_id: host, error_message: error }: FailingHost): string =>
  `✗ ${host}${error === null ? "" : `: ${error}`}`;

/** Names the hosts that halted a rollout, with their reasons then. */
function haltLines({ halt }: RolloutRecord): string[] {
  if (halt === null || halt.hosts.length === 0) return [];
  const more = halt.failing - halt.hosts.length;
  return [
    `halted at ${timeText(halt.at)} by ${counted(halt.failing, "host")}:`,
    ...halt.hosts.map(failingLine),
    ...(more > 0 ? [`✗ and ${counted(more, "more host")}`] : []),
  ];
}

const BAR_COLUMNS = 20;

/**
 * Describes a rollout in lines: its state, a bar for each wave, failing hosts with their reasons, and the hosts that it
 * waits for.
 */
export function rolloutLines(rollout: RolloutRecord, now: number): string[] {
  const { id, version, base_version: base, waves, open, failing, new_hosts: fresh, keeping } = rollout;
  const { awaited, awaited_hosts: allAwaited, waits } = rollout;
  const halted = new Set(rollout.halt?.hosts.map(({ host_id: host }) => host));
  const width = Math.max(...waves.map(({ wave }) => wave.length));
  return [
    `${targetText(rollout)} ${base ?? "nothing"} → ${version}  ${id}`,
    stateText(rollout, now),
    ...waves.map(({ wave, hosts, done, failing: failed }, index) => {
      const picture = bar(hosts === 0 ? 0 : done / hosts, BAR_COLUMNS);
      const sign = index < open ? "●" : "·";
      return `${sign} ${wave.padEnd(width)} ${picture} ${done}/${hosts}${failed === 0 ? "" : `, ${failed} failing`}`;
    }),
    ...keeping.map((kept) => `${counted(kept.hosts, "host")} ${kept.hosts === 1 ? "keeps" : "keep"} ${kept.version}`),
    ...(fresh === 0
      ? []
      : [`${counted(fresh, "host")} in no count: ${uncountedText(rollout)}, or without a name in polls`]),
    ...haltLines(rollout),
    ...failing.filter(({ host_id: host }) => !halted.has(host)).map(failingLine),
    ...(waits.length === 0 ? [] : [`… ${waitsText(waits)}`]),
    ...awaited.map((host) => `… ${awaitedText(host, version, now)}`),
    ...(allAwaited > awaited.length ? [`… and ${counted(allAwaited - awaited.length, "more host")}`] : []),
  ];
}
