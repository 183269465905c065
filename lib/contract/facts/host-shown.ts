import type { showProjectHost, showTargetHost } from "../fleets/routes.ts";
import { labelsText } from "../labels.ts";
import type { AnswerOf } from "../route.ts";
import { hostSettingsText, settingsNote } from "../settings/host-states.ts";
import { isInTrouble, shownVersion, triedVersion, unhealthySince, waitCause } from "../surfaces/host-record.ts";
import type { HostRecord, ReadHost } from "./host.ts";

// Apart from the schemas, so that a command that shows hosts, and `--help`, load none.

/**
 * Places where people see hosts: columns of `sealift fleet --csv` and its lines, rows and details of the dashboard in a
 * terminal, and the pages of a fleet and of one host. Answers and `--json` have what the schemas of `host.ts` have.
 */
export const HOST_PLACES = ["csv", "line", "row", "details", "fleet page", "host page"] as const;
export type HostPlace = (typeof HOST_PLACES)[number];

/** Fact of a host as people see it. */
export interface HostFact {
  /** Title on pages. */
  title?: string;
  /** Text on pages, for a fact that says no more than it holds; empty for nothing to show. */
  text?: (host: HostRecord) => string;
  /** Places where it has a column, cell or paragraph of its own. */
  own?: readonly HostPlace[];
  /** Places where it is told with another fact: a failed version, say, beside the running one. */
  within?: readonly HostPlace[];
  /** Whether its column is left out where no host has it. */
  isLeftOut?: true;
}

/** Facts of a host in any answer, and whether it is stale, which its reader decides. */
type FactName = keyof AnswerOf<typeof showTargetHost> | keyof AnswerOf<typeof showProjectHost> | "stale";

const EVERY_SCREEN = ["line", "row", "details", "fleet page", "host page"] as const;

/** Facts of a host with the places where each is shown, in the order of CSV columns. */
export const HOST_FACTS = {
  host_id: { title: "Host", own: ["csv", ...EVERY_SCREEN] },
  version: { title: "Tried", own: ["csv", "host page"], within: ["line", "row", "details", "fleet page"] },
  status: { own: ["csv", "line", "row", "details"], within: ["fleet page", "host page"] },
  running_version: { title: "Runs", own: ["csv", ...EVERY_SCREEN] },
  running_signer: { title: "Signed by", own: ["csv", "line", "details", "host page"] },
  completed_at: { title: "Last report", own: ["csv", ...EVERY_SCREEN] },
  error_message: { title: "Error", own: ["csv", "line", "row", "details", "host page"], within: ["fleet page"] },
  health: { title: "Unhealthy since", own: ["csv", "host page"], within: ["line", "row", "details", "fleet page"] },
  code: { title: "Code", own: ["csv"], within: EVERY_SCREEN },
  created_at: { own: ["csv"], within: EVERY_SCREEN },
  seen_at: { title: "Heard of", own: ["csv", "fleet page", "host page"], within: ["line", "row", "details"] },
  stale: { own: ["csv"], within: ["line", "row", "details"] },
  labels: {
    title: "Labels",
    text: ({ labels = {} }) => labelsText(labels).replaceAll(",", ", "),
    own: ["csv", "fleet page", "host page"],
  },
  root_version: {
    title: "Trust root",
    text: ({ root_version: version, root_digest: digest = "" }) =>
      version === undefined ? "" : `version ${version} (${digest.slice(0, 16)}…)`,
    own: ["host page"],
  },
  root_digest: { within: ["host page"] },
  settings_number: {
    title: "Settings",
    text: hostSettingsText,
    isLeftOut: true,
    own: ["csv", "fleet page", "host page"],
    within: ["line", "row", "details"],
  },
  settings_state: { own: ["csv"], within: EVERY_SCREEN },
  settings_of: { own: ["csv"], within: EVERY_SCREEN },
  settings_code: { own: ["csv"], within: EVERY_SCREEN },
  out_of_service: {
    title: "Out of service",
    text: ({ out_of_service: reason = "" }) => reason,
    isLeftOut: true,
    own: ["csv", "fleet page", "host page"],
    within: ["line", "row", "details"],
  },
  agent: {
    title: "Sealift",
    text: ({ agent = "" }) => agent,
    isLeftOut: true,
    own: ["csv", "fleet page", "host page"],
  },
  by_kit: {
    title: "By kit",
    text: ({ by_kit: kit, created_at: made }) =>
      kit === undefined ? "" : `${kit.kit}, made ${made.slice(0, 16)}Z, came back ${kit.back_at.slice(0, 16)}Z`,
    own: ["host page"],
  },
  started_at: { within: EVERY_SCREEN },
  superseded: { within: EVERY_SCREEN },
  state: { title: "State", own: ["fleet page", "host page"] },
  steps: { title: "Steps", own: ["host page"] },
  log: { title: "Log", own: ["host page"] },
  plugins: { title: "Plugins", own: ["host page"] },
  applications: { title: "Applications", own: ["host page"] },
  // Facts of the last report for programs.
  ...{ id: {}, deployer_id: {}, kind: {}, slug: {}, repo: {}, deployment_id: {} },
} as const satisfies Record<FactName, HostFact>;

type Facts = typeof HOST_FACTS;
/** Names of the facts that have a part of their own in a place. */
export type HostFactIn<Place extends HostPlace> = {
  [Fact in keyof Facts]: Facts[Fact] extends { own: readonly (infer Own)[] }
    ? Place extends Own
      ? Fact
      : never
    : never;
}[keyof Facts];
type PlainFact = { [Fact in keyof Facts]: Facts[Fact] extends { text: unknown } ? Fact : never }[keyof Facts];
/** Names of the facts that a page shows in a form of its own. */
export type FormedFactIn<Place extends HostPlace> = Exclude<HostFactIn<Place>, PlainFact>;

const factsIn = (place: HostPlace): [name: string, HostFact][] =>
  Object.entries<HostFact>(HOST_FACTS).filter(([, { own = [] }]) => own.includes(place));

/** Returns the names of the facts that have a part of their own in a place. */
export const namesIn = (place: HostPlace): string[] => factsIn(place).map(([name]) => name);

/** Part of a page that shows a fact. */
interface PagePart<Cell> {
  fact: string;
  title: string;
  cell: Cell;
  /** Whether it is left out where no host has the fact. */
  isLeftOut: boolean;
}

/**
 * Returns the parts of a page with their titles: formed facts in the given order, then those shown by their text alone.
 *
 * @param plain makes the cell of such a text
 */
export const partsOf = <Cell>(
  place: HostPlace,
  formed: Readonly<Record<string, Cell>>,
  plain: (text: (host: HostRecord) => string) => Cell,
): PagePart<Cell>[] => {
  const facts = new Map<string, HostFact>(Object.entries(HOST_FACTS));
  return [
    ...Object.entries(formed).map(([fact, cell]) => ({
      ...{ fact, title: facts.get(fact)?.title ?? fact, cell, isLeftOut: false },
    })),
    ...factsIn(place).flatMap(([fact, { title = fact, text, isLeftOut = false }]) =>
      text === undefined ? [] : [{ fact, title, cell: plain(text), isLeftOut }],
    ),
  ];
};

/** Returns what else a terminal says of a host behind its trouble: out of service, settings; empty for nothing. */
export const hostNotes = (host: ReadHost): string =>
  [host.out_of_service === undefined ? "" : `out of service: ${host.out_of_service}`, settingsNote(host)]
    .filter((note) => note !== "")
    .join("; ");

/** Host as dashboards and pages show it. */
export interface HostView {
  /** Running version, `none`, or the attempted one marked as failed when the running one is unknown. */
  version: string;
  /** Version whose deployment failed, where another one runs. */
  tried: string | null;
  /** Cause of its trouble; null for a host without any, and for one that does not say. */
  error: string | null;
  /**
   * Trusted key that has signed the running version, hexadecimal; null where no signature was required, undefined if
   * unknown.
   */
  signer: string | null | undefined;
  /** Time since which what it runs is unhealthy, ISO 8601; undefined for any other. */
  unhealthySince: string | undefined;
  /** Cause for which it waits, though no version failed there; undefined for none. */
  waits: ReturnType<typeof waitCause>;
}

export const hostView = (host: ReadHost): HostView => ({
  version: shownVersion(host),
  tried: triedVersion(host),
  error: isInTrouble(host) ? (host.error_message ?? null) : null,
  signer: host.running_signer,
  unhealthySince: unhealthySince(host),
  waits: waitCause(host),
});
