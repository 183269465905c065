import type { Key } from "ink";
import type { WatchAction } from "../agent/watch/events.ts";
import { FLEET_FILTERS, type FleetFilter } from "../models/fleet.ts";

export const TABS = ["deployment", "fleet", "history", "events"] as const;
export type Tab = (typeof TABS)[number];

/** The place of a person in the dashboard. */
export interface Navigation {
  /** Name of the selected target. */
  selected: string | undefined;
  tab: Tab;
  /** Rows scrolled away in each view: from the top, in `events` from the end. */
  scroll: Readonly<Record<Tab, number>>;
  search: string;
  /** Keys go into the search. */
  searching: boolean;
  filter: FleetFilter;
  help: boolean;
  /** The action that `y` confirms. */
  confirming: "redeploy" | "quit" | undefined;
}

export const FIRST_VIEW: Navigation = {
  selected: undefined,
  tab: "deployment",
  scroll: { deployment: 0, fleet: 0, history: 0, events: 0 },
  search: "",
  searching: false,
  filter: "all",
  help: false,
  confirming: undefined,
};

/** The facts about the shown screen that a key press depends on. */
export interface Shown {
  targets: readonly string[];
  /** Rows that the current view has in all, and rows that it shows at once. */
  rows: number;
  page: number;
  deploying: boolean;
  /** Keys that act on targets do something; a fleet alone has none. */
  watching: boolean;
}

export type Effect = { act: WatchAction; target: string } | { quit: true };

/** The keys, for the help and the footer. */
export const KEYS: readonly { keys: string; does: string; watching?: true; short?: string }[] = [
  { keys: "↑ ↓", does: "select a target", short: "target" },
  { keys: "Tab ← → 1-4", does: "deployment, fleet, history, events", watching: true },
  { keys: "Tab", does: "next view", watching: true, short: "view" },
  { keys: "j k PgUp PgDn Home End", does: "scroll the view" },
  { keys: "/", does: "search hosts, versions and errors; Esc clears", short: "search" },
  { keys: "f", does: "filter the fleet: all, failing, not on the latest version", short: "filter" },
  { keys: "c", does: "check the hub now", watching: true, short: "check" },
  { keys: "r", does: "redeploy the latest version, even if it runs", watching: true, short: "redeploy" },
  { keys: "t", does: "retry a version that is in quarantine", watching: true, short: "retry" },
  { keys: "p", does: "pause or resume the target", watching: true, short: "pause" },
  { keys: "?", does: "this help", short: "help" },
  { keys: "q", does: "quit; a deployment under way is finished or undone", short: "quit" },
];

/** Returns the place that a key leads to, and what it asks of the watch. */
export function press(
  nav: Navigation,
  input: string,
  key: Partial<Key>,
  shown: Shown & { paused: boolean },
): { nav: Navigation; effect?: Effect } {
  if (key.ctrl === true && input === "c") return { nav, effect: { quit: true } };
  if (nav.confirming !== undefined) return confirmed(nav, input);
  if (nav.searching) return { nav: typed(nav, input, key) };
  if (nav.help) return { nav: { ...nav, help: false }, ...(input === "q" && quitting(nav, shown)) };
  if (input === "q") return quitting(nav, shown);
  if (input === "?") return { nav: { ...nav, help: true } };
  if (key.upArrow || key.downArrow) {
    const by = key.upArrow ? -1 : 1;
    return { nav: shown.targets.length > 1 ? select(nav, by, shown) : scrolled(nav, by < 0 ? "k" : "j", {}, shown) };
  }
  const acted = shown.watching ? action(nav, input, shown.paused) : undefined;
  return acted ?? { nav: moved(nav, input, key, shown) };
}

function quitting(nav: Navigation, shown: Shown): { nav: Navigation; effect?: Effect } {
  return shown.deploying ? { nav: { ...nav, confirming: "quit", help: false } } : { nav, effect: { quit: true } };
}

function confirmed(nav: Navigation, input: string): { nav: Navigation; effect?: Effect } {
  const after = { ...nav, confirming: undefined };
  const yes = input === "y" || (nav.confirming === "quit" && input === "q");
  if (!yes) return { nav: after };
  if (nav.confirming === "quit") return { nav: after, effect: { quit: true } };
  return nav.selected === undefined
    ? { nav: after }
    : { nav: after, effect: { act: "redeploy", target: nav.selected } };
}

function typed(nav: Navigation, input: string, key: Partial<Key>): Navigation {
  const top = { ...nav, scroll: { ...nav.scroll, fleet: 0 } };
  if (key.escape) return { ...top, searching: false, search: "" };
  if (key.return) return { ...top, searching: false };
  if (key.backspace || key.delete) return { ...top, search: nav.search.slice(0, -1) };
  const text = input.replace(/[\p{Cc}\p{Cf}]/gu, "");
  return text === "" || key.ctrl || key.meta ? nav : { ...top, search: (nav.search + text).slice(0, 100) };
}

const ACTIONS: Readonly<Record<string, WatchAction>> = { c: "check", t: "retry" };

function action(nav: Navigation, input: string, paused: boolean): { nav: Navigation; effect?: Effect } | undefined {
  const { selected: target } = nav;
  if (target === undefined) return undefined;
  if (input === "p") return { nav, effect: { act: paused ? "resume" : "pause", target } };
  if (input === "r") return { nav: { ...nav, confirming: "redeploy" } };
  const act = ACTIONS[input];
  return act === undefined ? undefined : { nav, effect: { act, target } };
}

function select(nav: Navigation, by: number, { targets }: Shown): Navigation {
  const at = Math.max(0, targets.indexOf(nav.selected ?? ""));
  const selected = targets[Math.min(targets.length - 1, Math.max(0, at + by))];
  if (selected === nav.selected) return nav;
  return { ...nav, selected, scroll: { ...nav.scroll, deployment: 0, fleet: 0 } };
}

function moved(nav: Navigation, input: string, key: Partial<Key>, shown: Shown): Navigation {
  if (shown.watching) {
    const at = TABS.indexOf(nav.tab);
    const step = key.leftArrow || (key.tab && key.shift) ? -1 : key.rightArrow || key.tab ? 1 : 0;
    if (step !== 0) return { ...nav, tab: TABS[(at + step + TABS.length) % TABS.length]! };
    const chosen = /^[1-4]$/.test(input) ? TABS[Number(input) - 1] : undefined;
    if (chosen !== undefined) return { ...nav, tab: chosen };
  }
  if (input === "/") return { ...nav, tab: "fleet", searching: true };
  if (key.escape) return { ...nav, search: "", scroll: { ...nav.scroll, fleet: 0 } };
  if (input === "f") {
    const filter = FLEET_FILTERS[(FLEET_FILTERS.indexOf(nav.filter) + 1) % FLEET_FILTERS.length]!;
    return { ...nav, tab: "fleet", filter, scroll: { ...nav.scroll, fleet: 0 } };
  }
  return scrolled(nav, input, key, shown);
}

function scrolled(nav: Navigation, input: string, key: Partial<Key>, { rows, page }: Shown): Navigation {
  const last = Math.max(0, rows - page);
  const before = Math.min(nav.scroll[nav.tab], last);
  // The newest event is the last row: going up there is going back.
  const up = nav.tab === "events" ? 1 : -1;
  const by = input === "k" ? up : input === "j" ? -up : key.pageUp ? up * page : key.pageDown ? -up * page : undefined;
  const edge = key.home ? (up === 1 ? last : 0) : key.end ? (up === 1 ? 0 : last) : undefined;
  if (by === undefined && edge === undefined) return nav;
  const offset = edge ?? Math.min(last, Math.max(0, before + (by ?? 0)));
  return { ...nav, scroll: { ...nav.scroll, [nav.tab]: offset } };
}
