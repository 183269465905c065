import { DateTime, IANAZone } from "luxon";

/** Hours on some days of the week, in a time zone. */
export interface Window {
  /** Days of the week on which the window opens, 1 for Monday. */
  days: ReadonlySet<number>;
  /** Start in minutes since midnight; an end that is not after it is on the next day. */
  start: number;
  end: number;
  zone: string;
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MINUTES_OF_DAY = 24 * 60;
const MINUTE_MS = 60_000;
const DAY_MS = MINUTES_OF_DAY * MINUTE_MS;
const EXAMPLE = "such as Mon-Thu 09:00-16:00 Europe/Berlin";

/** Parses the days of a window. @throws Error whose message continues "window: …" */
function daysOf(text: string): Set<number> {
  const dayOf = (name: string): number => {
    const found = DAYS.findIndex((day) => day.toLowerCase() === name.toLowerCase());
    if (found === -1) throw new Error(`${JSON.stringify(name)} is not a day; days are ${DAYS.join(", ")}`);
    return found;
  };
  const days = new Set<number>();
  for (const part of text.split(",")) {
    const [first, last = first, ...rest] = part.split("-").map(dayOf);
    if (first === undefined || last === undefined || rest.length > 0)
      throw new Error(`${JSON.stringify(part)} is not a range of days`);
    // Fri-Mon spans the weekend.
    for (let day = first; ; day = (day + 1) % 7) {
      days.add(day + 1);
      if (day === last) break;
    }
  }
  return days;
}

/** Parses a time of day. @throws Error whose message continues "window: …" */
function minuteOf(text: string): number {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  const minute = Number(hours) * 60 + Number(minutes);
  if (hours !== undefined && Number(minutes) < 60 && minute <= MINUTES_OF_DAY) return minute;
  throw new Error(`${JSON.stringify(text)} is not a time from 00:00 to 24:00`);
}

/** Reads `Mon-Thu 09:00-16:00 Europe/Berlin`. @throws Error whose message continues "window: …" */
export function parseWindow(text: string): Window {
  const [days, hours, zone, ...rest] = text.trim().split(/\s+/);
  if (days === undefined || hours === undefined || zone === undefined || rest.length > 0)
    throw new Error(`must be days, hours and a time zone, ${EXAMPLE}`);
  const [from, to, ...others] = hours.split("-");
  if (from === undefined || to === undefined || others.length > 0)
    throw new Error(`${JSON.stringify(hours)} must be two times, ${EXAMPLE}`);
  const [start, end] = [minuteOf(from), minuteOf(to)];
  if (start === end || start === MINUTES_OF_DAY) throw new Error(`${hours} never opens`);
  if (!IANAZone.isValidZone(zone)) throw new Error(`${JSON.stringify(zone)} is not a time zone that this hub knows`);
  return { days: daysOf(days), start, end, zone };
}

const DAY = `(?:${DAYS.join("|")})`;
const TIME = "(?:[01][0-9]|2[0-4]):[0-5][0-9]";
/** Matches a window as docs/contract/rollouts.md writes it; zones are those of IANA, in their own letters. */
const WRITTEN = new RegExp(`^${DAY}(?:-${DAY})?(?:,${DAY}(?:-${DAY})?)* ${TIME}-${TIME} [A-Z]\\w*(?:[/+-]\\w+)*$`);

/**
 * Reads the window of a new rollout, which must be written as the contract has it. {@link parseWindow} reads what
 * hubs of 0.1.0 stored, too.
 *
 * @throws Error whose message continues "window: …"
 */
export function readNewWindow(text: string): Window {
  const window = parseWindow(text);
  const zone = text.slice(text.lastIndexOf(" ") + 1);
  const known = new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
  const isOtherCase = known !== zone && known.toLowerCase() === zone.toLowerCase();
  if (!WRITTEN.test(text) || isOtherCase)
    throw new Error(`must be written with days, times and a zone of IANA, ${EXAMPLE}`);
  const days = text
    .slice(0, text.indexOf(" "))
    .split(",")
    .map((part) => daysOf(part).size);
  if (days.reduce((sum, count) => sum + count, 0) === window.days.size) return window;
  throw new Error("names a day twice");
}

const zoned = ({ zone }: Window, at: number): DateTime => DateTime.fromMillis(at, { zone });

/** Returns whether it is open: whether clocks in its zone show a time within its hours. True without a window. */
export function isOpenAt(window: Window | undefined, at: number): boolean {
  if (window === undefined) return true;
  const { days, start, end } = window;
  const { weekday, hour, minute } = zoned(window, at);
  const shown = hour * 60 + minute;
  if (start < end) return days.has(weekday) && start <= shown && shown < end;
  const dayBefore = weekday === 1 ? 7 : weekday - 1;
  return (days.has(weekday) && start <= shown) || (days.has(dayBefore) && shown < end);
}

/** Returns the instant between two at which clocks of a zone are changed, which happens once between them. */
function clockChange(window: Window, first: number, last: number): number {
  const { offset } = zoned(window, last);
  let [before, after] = [first, last];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (zoned(window, middle).offset === offset) after = middle;
    else before = middle;
  }
  return after;
}

/**
 * Returns the first instant after `at`, or the last one up to it, at which clocks show the start of a window or are
 * changed. A window opens at no other instant, and no zone changes its clocks twice within a day.
 */
function nearestStart(window: Window, at: number, where: "after" | "upTo"): number {
  const { hour, minute, second, millisecond, offset } = zoned(window, at);
  const shown = ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
  const since = (shown - window.start * MINUTE_MS + DAY_MS) % DAY_MS;
  const start = where === "after" ? at - since + DAY_MS : at - since;
  if (zoned(window, start).offset === offset) return start;
  return where === "after" ? clockChange(window, at, start) : clockChange(window, start, at);
}

/** Cache of the next opening of a window, with the time at which it was computed: polls ask for it repeatedly. */
const found = new WeakMap<Window, { at: number; opening: number }>();

/**
 * Returns when a window opens next. While it is open: when it opened, or when its clocks last showed its start.
 *
 * @param now milliseconds since 1970
 */
export function nextOpening(window: Window, now: number): number {
  const known = found.get(window);
  if (known !== undefined && known.at <= now && now < known.opening) return known.opening;
  if (!isOpenAt(window, now)) {
    let opening = now;
    do opening = nearestStart(window, opening, "after");
    while (!isOpenAt(window, opening));
    found.set(window, { at: now, opening });
    return opening;
  }
  const showsStart = ({ hour, minute }: DateTime): boolean => hour * 60 + minute === window.start;
  let opened = nearestStart(window, now, "upTo");
  while (!showsStart(zoned(window, opened)) && isOpenAt(window, opened - 1))
    opened = nearestStart(window, opened - 1, "upTo");
  return opened;
}
