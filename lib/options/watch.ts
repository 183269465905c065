import { agent } from "./agent.ts";
import { duration, flag, path, text } from "./kinds.ts";
import { group, type Option, optional, requiredWhen, type Table } from "./option.ts";
import { marketplaceSource, projectSource } from "./sources.ts";

const interval = group("Watch", {
  intervalMs: duration({ name: "interval", help: "Time between two checks of a target", default: 60_000, minMs: 1000 }),
});

/** How a program shows what it does on a terminal. */
export const dashboard = group("Dashboard", {
  tui: flag({ help: "Print lines on a terminal, too", default: true }),
  screenReader: flag({ help: "Words instead of bars and columns, for screen readers" }),
});

/** The options that belong to the watch as a whole. */
const own = group("Watch", {
  watchConfig: path({ flag: "--config", help: "watch.yaml: targets and their options" }),
  once: flag({ help: "Check and deploy once, then end" }),
});

/** What a target of the watch may have of its own, by what it is. */
export const targetOptions = {
  project: { ...agent, ...projectSource, ...interval },
  marketplace: { ...agent, ...marketplaceSource, ...interval },
};

/** Options for all targets of a watch, each of which may have its own. Their secrets are read for each target. */
const shared = Object.fromEntries(
  Object.entries<Option>({ ...targetOptions.marketplace, ...targetOptions.project }).map(([key, option]) => [
    key,
    option.secret ? requiredWhen(option, () => false) : optional(option),
  ]),
) as Table;

export const watch = { ...shared, ...own, ...dashboard } as typeof own & typeof dashboard;

/** Options of `fleet`. */
export const fleet = {
  ...group("Fleet", { since: text({ metavar: "CURSOR", help: "Only hosts that changed since this cursor" }) }),
  ...dashboard,
};
