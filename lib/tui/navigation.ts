import type { Key } from "ink";
import type { WatchAction } from "../agent/watch/events.ts";
import { FLEET_FILTERS, type FleetFilter, HOST_ORDERS, type HostOrder } from "./fleet-model.ts";

export const TABS = ["deployment", "fleet", "history", "events"] as const;
export type Tab = (typeof TABS)[number];

/** Orders in which targets are listed. */
export const TARGET_ORDERS = ["listed", "state", "name"] as const;
export type TargetOrder = (typeof TARGET_ORDERS)[number];

/** Position of a person in the dashboard. */
export interface Navigation {
  /** Name of the selected target. */
  selected: string | undefined;
  tab: Tab;
  /** Rows scrolled away in each view: from the top, in `events` from the end. */
  scroll: Readonly<Record<Tab, number>>;
  search: string;
  /** Whether keys go into the search. */
  searching: boolean;
  filter: FleetFilter;
  order: TargetOrder;
  /** Shown instead of the lists and views. */
  overlay: Overlay | undefined;
  /** Action that `y` confirms. */
  confirming: Confirmed | undefined;
  /** Order of the fleet's hosts. */
  hosts: HostOrder;
}

/**
 * Overlay: the help; the details, with the rows scrolled away; the selected target's log, with the rows back from its
 * end.
 */
export interface Overlay {
  kind: "help" | "detail" | "log";
  at: number;
  /** Text that shown lines of a log have in them. */
  find?: string;
  /** Whether keys go into that text. */
  finding?: boolean;
}

/** Action that needs confirmation. */
export type Confirmed = "redeploy" | "rollback" | "quit";
/** Requests that keys make of targets. */
export type TargetAction = WatchAction | "rollback";

export const FIRST_VIEW: Navigation = {
  selected: undefined,
  tab: "deployment",
  scroll: { deployment: 0, fleet: 0, history: 0, events: 0 },
  search: "",
  searching: false,
  filter: "all",
  order: "listed",
  overlay: undefined,
  confirming: undefined,
  hosts: "failing",
};

/** Facts about the screen that a key press depends on. */
export interface Shown {
  targets: readonly string[];
  /** Rows of the current view in total; `page` is how many it shows at a time. */
  rows: number;
  page: number;
  /** Rows and page of the text shown instead of the views, where it fits. */
  overlay?: { rows: number; page: number };
  deploying: boolean;
  /** Whether there are targets; a fleet alone has none. */
  watching: boolean;
  /** Whether keys act on targets. */
  acting: boolean;
  /** Whether the selected target is paused. */
  paused: boolean;
}

/** Most characters of a search. */
const MAX_SEARCH = 100;

export interface Pressed {
  nav: Navigation;
  effect?: Effect;
}

export type Effect = { act: TargetAction; target: string } | { copy: true } | { quit: true };

/** Keys, for the help and the footer. */
export const KEYS: readonly { keys: string; does: string; watching?: true; acting?: true; short?: string }[] = [
  { keys: "↑ ↓", does: "select a target", short: "target" },
  { keys: "Tab ← → 1-4", does: "deployment, fleet, history, events", watching: true },
  { keys: "Tab", does: "next view", watching: true, short: "view" },
  { keys: "Enter", does: "all details in full; y copies them, Enter closes", short: "details" },
  { keys: "l", does: "the target's log, from its supervisor", watching: true, short: "log" },
  { keys: "j k PgUp PgDn Home End", does: "scroll the view" },
  { keys: "s", does: "sort the targets: as listed, by state, by name", watching: true },
  { keys: "/", does: "search hosts, versions and errors; Esc clears", short: "search" },
  { keys: "f", does: "filter the fleet: all, failing, not on the latest, stale", short: "filter" },
  { keys: "o", does: "order hosts: failing first, name, version, report" },
  { keys: "c", does: "check the hub now", watching: true, acting: true, short: "check" },
  { keys: "r", does: "redeploy the latest version, even if it runs", watching: true, acting: true, short: "redeploy" },
  { keys: "b", does: "go back to the release that ran before", watching: true, acting: true, short: "back" },
  { keys: "t", does: "retry a version in quarantine, fetched anew", watching: true, acting: true, short: "retry" },
  { keys: "p", does: "pause or resume the target", watching: true, acting: true, short: "pause" },
  { keys: "?", does: "this help", short: "help" },
  { keys: "q", does: "quit; a deployment under way is finished or undone", short: "quit" },
];

/** Returns the position that a key leads to, and its request to the watch. */
export function press(nav: Navigation, input: string, key: Partial<Key>, shown: Shown): Pressed {
  if (key.ctrl === true && input === "c") return { nav, effect: { quit: true } };
  if (nav.confirming !== undefined) return confirmed(nav, input);
  if (nav.overlay !== undefined) return inOverlay(nav, nav.overlay, input, key, shown);
  if (nav.searching) return { nav: typed(nav, input, key) };
  if (input === "q") return quitting(nav, shown);
  const opened = opening(input, key, shown);
  if (opened !== undefined) return { nav: { ...nav, overlay: { kind: opened, at: 0 } } };
  if (key.upArrow || key.downArrow) {
    const by = key.upArrow ? -1 : 1;
    return { nav: shown.targets.length > 1 ? select(nav, by, shown) : scrolled(nav, by < 0 ? "k" : "j", {}, shown) };
  }
  const asked = shown.acting ? action(nav, input, shown.paused) : undefined;
  const acted = shown.watching ? (asked ?? listing(nav, input)) : undefined;
  return acted ?? { nav: moved(nav, input, key, shown) };
}

function quitting(nav: Navigation, shown: Shown): Pressed {
  return shown.deploying
    ? { nav: { ...nav, confirming: "quit", overlay: undefined } }
    : { nav, effect: { quit: true } };
}

function confirmed(nav: Navigation, input: string): Pressed {
  const after = { ...nav, confirming: undefined };
  const yes = input === "y" || (nav.confirming === "quit" && input === "q");
  if (!yes) return { nav: after };
  if (nav.confirming === "quit") return { nav: after, effect: { quit: true } };
  const { confirming, selected: target } = nav;
  return target === undefined ? { nav: after } : { nav: after, effect: { act: confirming!, target } };
}

function opening(input: string, key: Partial<Key>, shown: Shown): Overlay["kind"] | undefined {
  if (shown.overlay === undefined) return undefined;
  if (input === "?") return "help";
  if (input === "l" && shown.watching && shown.targets.length > 0) return "log";
  return key.return ? "detail" : undefined;
}

function inOverlay(nav: Navigation, overlay: Overlay, input: string, key: Partial<Key>, shown: Shown): Pressed {
  const { kind, at } = overlay;
  const closed = { ...nav, overlay: undefined };
  if (kind === "help") return { nav: closed, ...(input === "q" && quitting(nav, shown)) };
  const found = kind === "log" ? finding(overlay, input, key) : undefined;
  if (found !== undefined) return { nav: { ...nav, overlay: found } };
  if (key.return || key.escape || input === "q" || (kind === "log" && input === "l")) return { nav: closed };
  if (kind === "detail" && input === "y") return { nav, effect: { copy: true } };
  const letter = key.upArrow ? "k" : key.downArrow ? "j" : input;
  // The newest line of a log is its last row.
  const offset = scrolledTo(at, kind === "log" ? 1 : -1, letter, key, shown.overlay ?? { rows: 0, page: 1 });
  return { nav: offset === undefined ? nav : { ...nav, overlay: { ...overlay, at: offset } } };
}

/** Handles keys of the search in a log: `/` begins it, Enter keeps it, Esc clears it. */
function finding(overlay: Overlay, input: string, key: Partial<Key>): Overlay | undefined {
  const { find = "", finding: isOpen = false } = overlay;
  const to = (text: string, open: boolean): Overlay => ({ kind: "log", at: 0, find: text, finding: open });
  if (key.escape && (isOpen || find !== "")) return to("", false);
  if (!isOpen) return input === "/" ? to(find, true) : undefined;
  return key.return ? to(find, false) : to(edited(find, input, key), true);
}

/** Returns a search after a key. */
function edited(text: string, input: string, key: Partial<Key>): string {
  if (key.backspace || key.delete) return text.slice(0, -1);
  const more = input.replace(/[\p{Cc}\p{Cf}]/gu, "");
  return key.ctrl || key.meta ? text : (text + more).slice(0, MAX_SEARCH);
}

/** Handles the key that sorts the list of targets. */
function listing(nav: Navigation, input: string): { nav: Navigation } | undefined {
  if (input !== "s") return undefined;
  const order = TARGET_ORDERS[(TARGET_ORDERS.indexOf(nav.order) + 1) % TARGET_ORDERS.length]!;
  return { nav: { ...nav, order } };
}

/** Returns the place that a paste leads to: its first line is typed into an open search. */
export function pasted(nav: Navigation, text: string): Navigation {
  const line = text.split(/[\r\n]/, 1)[0]!;
  const { overlay } = nav;
  if (overlay?.finding === true) return { ...nav, overlay: finding(overlay, line, {})! };
  return nav.searching ? typed(nav, line, {}) : nav;
}

function typed(nav: Navigation, input: string, key: Partial<Key>): Navigation {
  const top = { ...nav, scroll: { ...nav.scroll, fleet: 0 } };
  if (key.escape) return { ...top, searching: false, search: "" };
  if (key.return) return { ...top, searching: false };
  const search = edited(nav.search, input, key);
  return search === nav.search ? nav : { ...top, search };
}

const ACTIONS: Readonly<Record<string, WatchAction>> = { c: "check", t: "retry" };

function action(nav: Navigation, input: string, paused: boolean): Pressed | undefined {
  const { selected: target } = nav;
  if (target === undefined) return undefined;
  if (input === "p") return { nav, effect: { act: paused ? "resume" : "pause", target } };
  if (input === "r") return { nav: { ...nav, confirming: "redeploy" } };
  if (input === "b") return { nav: { ...nav, confirming: "rollback" } };
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
  if (input === "o") {
    const hosts = HOST_ORDERS[(HOST_ORDERS.indexOf(nav.hosts) + 1) % HOST_ORDERS.length]!;
    return { ...nav, tab: "fleet", hosts, scroll: { ...nav.scroll, fleet: 0 } };
  }
  return scrolled(nav, input, key, shown);
}

function scrolled(nav: Navigation, input: string, key: Partial<Key>, shown: Shown): Navigation {
  // The newest event is the last row: going up there is going back.
  const up = nav.tab === "events" ? 1 : -1;
  const offset = scrolledTo(nav.scroll[nav.tab], up, input, key, shown);
  return offset === undefined ? nav : { ...nav, scroll: { ...nav.scroll, [nav.tab]: offset } };
}

/** Returns the offset that a key leads to, or `undefined` for a key that does not scroll. */
function scrolledTo(
  offset: number,
  up: 1 | -1,
  input: string,
  key: Partial<Key>,
  { rows, page }: Pick<Shown, "rows" | "page">,
): number | undefined {
  const last = Math.max(0, rows - page);
  const by = input === "k" ? up : input === "j" ? -up : key.pageUp ? up * page : key.pageDown ? -up * page : undefined;
  if (key.home) return up === 1 ? last : 0;
  if (key.end) return up === 1 ? 0 : last;
  return by === undefined ? undefined : Math.min(last, Math.max(0, Math.min(offset, last) + by));
}
