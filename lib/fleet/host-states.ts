import type { Labels } from "../contract/labels.ts";
import { labelsText } from "../contract/labels.ts";
import type { Judged } from "./admission.ts";
import { outcomeOf } from "./numbers.ts";
import type { Enrolled, Roll } from "./roll.ts";

/** State of the settings of one host, for `settings show`. */
export interface HostState {
  host_id: string;
  /** Word of the state: `applied`, `failed`, `waits`, `none`, and those of hosts that get nothing. */
  state:
    | "applied"
    | "failed"
    | "not_back"
    | "waits"
    | "none"
    | "absent"
    | "new"
    | "unaccepted"
    | "cardless"
    | "removed"
    | "refused";
  /** Code of a failure or of a refusal. */
  code: string | null;
  /** Number of its last document by the roll. */
  number: number | null;
  /** Number of the document that the host has said something of. */
  said: number | null;
  labels: Labels;
  /** Labels at the hub, where they differ. */
  hub_labels: Labels | null;
  fingerprint: string | null;
  /** Values that the host did not use, as `web.NAME`. */
  ignored: { name: string; code: string }[];
}

const NOTHING = { code: null, number: null, said: null, labels: {}, hub_labels: null, fingerprint: null, ignored: [] };

function enrolledState(host: Enrolled, one: Judged, roll: Roll): HostState {
  const outcome = outcomeOf(one.row, host, roll.project);
  const isLast = outcome !== undefined && outcome.number === host.number && outcome.digest === host.document;
  const state = isLast ? outcome.state : host.number === 0 ? "none" : "waits";
  return {
    ...{ ...NOTHING, host_id: host.name, state, code: isLast ? outcome.code : null, number: host.number },
    ...{ said: outcome?.number ?? null, labels: host.labels, fingerprint: host.fingerprint },
    ignored: isLast ? outcome.ignored : [],
  };
}

function stateOf(one: Judged, roll: Roll): HostState {
  const host_id = one.row.host_id;
  switch (one.state) {
    case "known":
      return enrolledState(one.host, one, roll);
    case "arrived": {
      const { labels, fingerprint } = one.arrival.host;
      return { ...NOTHING, host_id, state: "new", labels, fingerprint };
    }
    case "refused": {
      const { error, host } = one;
      const known = host && { number: host.number, labels: host.labels, fingerprint: host.fingerprint };
      return { ...NOTHING, host_id, ...known, state: "refused", code: error.code };
    }
    default:
      return { ...NOTHING, host_id, state: one.state };
  }
}

/** Returns the state of each host at the hub and in the roll, by name. @param hubLabels by host, where known */
export function hostStatesOf(
  judged: readonly Judged[],
  roll: Roll,
  hubLabels: ReadonlyMap<string, Labels> = new Map(),
): HostState[] {
  const seen = new Set(judged.flatMap((one) => ("host" in one ? [one.host.fingerprint] : [])));
  const absent = roll
    .hosts()
    .filter(({ fingerprint }) => !seen.has(fingerprint))
    .map(({ name, number, labels, fingerprint }): HostState => ({
      ...{ ...NOTHING, host_id: name, state: "absent", number, labels, fingerprint },
    }));
  const all = [...judged.map((one) => stateOf(one, roll)), ...absent];
  return all
    .map((one) => {
      const theirs = hubLabels.get(one.host_id);
      const differs = theirs !== undefined && one.fingerprint !== null && !same(theirs, one.labels);
      return differs ? { ...one, hub_labels: theirs } : one;
    })
    .toSorted((a, b) => (a.host_id < b.host_id ? -1 : 1));
}

const inOrder = (labels: Labels): string =>
  labelsText(Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))));
const same = (a: Labels, b: Labels): boolean => inOrder(a) === inOrder(b);
