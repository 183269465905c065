import { HOST_SETTINGS } from "../contract/settings/host-states.ts";
import { HOST_STATES, STALE_MS } from "../contract/surfaces/host-record.ts";
import { parseListen } from "./addresses.ts";
import { agent } from "./agent.ts";
import { connection } from "./connection.ts";
import * as forms from "./forms.ts";
import { hostSettings } from "./host-settings.ts";
import { choice, duration, flag, parsed, path, text, whole } from "./kinds.ts";
import { watchedArchive, watchedProject } from "./kits.ts";
import { group, guarded, type Option, optional, type OptionTable, required, requiredWhen } from "./option.ts";

const interval = group("Watch", {
  intervalMs: duration({ name: "interval", help: "Time between two checks of a target", default: 60_000, minMs: 1000 }),
  hints: flag({ help: "Check on the interval only, not when the hub hints", default: true }),
});

const ahead = group("Watch", {
  fetchAhead: flag({ help: "Fetch a version before its rollout's window opens" }),
});

/** Options for showing progress on a terminal. */
export const dashboard = group("Dashboard", {
  tui: flag({ help: "Print lines on a terminal, too", default: true }),
  screenReader: flag({ help: "Words instead of bars and columns, for screen readers" }),
});

/** Options of the watch as a whole. */
const own = group("Watch", {
  watchConfig: guarded(path({ flag: "--config", help: "watch.yaml: targets and their options" })),
  once: flag({ help: "Check and deploy once, then end" }),
  viewOnly: flag({ help: "A dashboard that only looks: no key acts on a target" }),
  metricsListen: parsed(
    { metavar: "HOST:PORT", help: "Listener for Prometheus; all who reach it read /metrics", defaultText: "none" },
    parseListen,
  ),
});

/** Options that a target of the watch may set for itself, by its kind. */
export const targetOptions = {
  project: { ...watchedProject, ...interval, ...ahead, ...hostSettings },
  marketplace: { ...watchedArchive, ...interval, ...ahead },
};

/** Options for all targets of a watch, each of which may override them. Their secrets are read for each target. */
const shared = Object.fromEntries(
  Object.entries<Option>({ ...targetOptions.marketplace, ...targetOptions.project }).map(([key, option]) => [
    key,
    option.secret ? requiredWhen(option, () => false) : optional(option),
  ]),
) as OptionTable;

export const watch = { ...shared, ...own, ...dashboard } as typeof own & typeof dashboard;

/** Options of `watch init`. */
export const watchStart = {
  ...group("Files", {
    out: path({ metavar: "FOLDER", help: "Folder for watch.yaml and what belongs to it", default: "." }),
    projectRoot: path({ help: "Folder that the watch deploys into", default: "/srv/sealift" }),
  }),
  hostId: agent.hostId,
  supervisor: agent.supervisor,
  supervisorName: agent.supervisorName,
  runtimeUrl: agent.runtimeUrl,
  ...connection,
};

/** Parses `95%` or a number of hosts. @throws Error whose message continues "--min …" */
function minimumOf(text: string): { value: number; share: boolean } {
  const [, digits, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  const share = percent === "%";
  if (digits !== undefined && value > 0 && (share ? value <= 100 : Number.isInteger(value))) return { value, share };
  throw new Error(`is a share such as 95%, or a number of hosts, not ${JSON.stringify(text)}`);
}

const stale = group("Fleet", {
  staleMs: duration({ name: "stale", help: "Silence after which a host counts as stale", default: STALE_MS }),
});

/** Options of `fleet wait`, where `--timeout` limits the whole wait. */
export const fleetWait = {
  ...group("Wait", {
    version: required(text({ metavar: "VERSION", help: "The version to wait for", form: forms.versionLabel })),
    min: parsed({ metavar: "SHARE", help: "How many hosts must run it: 95%, or a number", default: "100%" }, minimumOf),
    withinMs: duration({
      name: "wait-timeout",
      flag: "--timeout",
      help: "How long to wait for them",
      default: 1_800_000,
    }),
    intervalMs: duration({
      name: "poll-interval",
      flag: "--interval",
      help: "Time between two looks at the fleet",
      default: 5_000,
      minMs: 200,
    }),
  }),
  ...stale,
  hubUrl: connection.hubUrl,
  apiKey: connection.apiKey,
};

/** Options of `fleet`. */
export const fleet = {
  ...group("Fleet", {
    since: text({ metavar: "CURSOR", help: "Only hosts that changed since this cursor" }),
    state: choice(HOST_STATES, { help: "Only hosts in this state" }),
    withLabel: text({
      name: "with-label",
      flag: "--label",
      metavar: "NAME[=VALUE]",
      help: "Only hosts with this label",
    }),
  }),
  ...group("Fleet", {
    rootBelow: optional(
      whole({ metavar: "VERSION", help: "Only hosts whose trust root is older than this version", min: 1 }),
    ),
    apps: flag({ help: "Applications on each host, instead of hosts" }),
    withApp: text({ name: "with-app", flag: "--app", metavar: "ID", help: "Only hosts with this application" }),
    withSettings: choice(HOST_SETTINGS, {
      name: "with-settings",
      flag: "--settings",
      help: "Only hosts whose settings are in this state",
    }),
  }),
  ...stale,
  ...dashboard,
};

/** Options of `fleet forget`. There `--stale` chooses hosts. */
export const fleetForget = group("Forget", {
  silentMs: optional(
    duration({
      name: "forget-stale",
      flag: "--stale",
      needsUnit: true,
      help: "Forget every host that was silent at least this long",
    }),
  ),
  dryRun: flag({ help: "Only tell which hosts would be forgotten" }),
});
