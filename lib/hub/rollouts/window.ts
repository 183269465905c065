import { DateTime, IANAZone } from "luxon";

/** Hours of some days of the week, in a time zone. */
export interface Window {
  /** Days of the week on which it opens, from 1 for Monday. */
  days: ReadonlySet<number>;
  /** Minutes since midnight; an end that is not after the start is on the next day. */
  start: number;
  end: number;
  zone: string;
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MINUTES_OF_DAY = 24 * 60;
const EXAMPLE = "such as Mon-Thu 09:00-16:00 Europe/Berlin";

/** @throws Error whose message continues "window: …" */
function daysOf(text: string): Set<number> {
  const dayOf = (name: string): number => {
    const found = DAYS.findIndex((day) => day.toLowerCase() === name.toLowerCase());
    if (found === -1) throw new Error(`${JSON.stringify(name)} is no day; days are ${DAYS.join(", ")}`);
    return found;
  };
  const days = new Set<number>();
  for (const part of text.split(",")) {
    const [first, last = first, ...rest] = part.split("-").map(dayOf);
    if (first === undefined || last === undefined || rest.length > 0)
      throw new Error(`${JSON.stringify(part)} is no range of days`);
    // Fri-Mon goes over the weekend.
    for (let day = first; ; day = (day + 1) % 7) {
      days.add(day + 1);
      if (day === last) break;
    }
  }
  return days;
}

/** @throws Error whose message continues "window: …" */
function minuteOf(text: string): number {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  const minute = Number(hours) * 60 + Number(minutes);
  if (hours !== undefined && Number(minutes) < 60 && minute <= MINUTES_OF_DAY) return minute;
  throw new Error(`${JSON.stringify(text)} is no time from 00:00 to 24:00`);
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
  if (!IANAZone.isValidZone(zone)) throw new Error(`${JSON.stringify(zone)} is no time zone that this hub knows`);
  return { days: daysOf(days), start, end, zone };
}

/** The time of a day, in milliseconds. A time that a clock change skips is the one after the gap. */
const timeOn = (day: DateTime, minute: number): number =>
  day
    .plus({ days: Math.floor(minute / MINUTES_OF_DAY) })
    .set({
      hour: Math.floor((minute % MINUTES_OF_DAY) / 60),
      minute: minute % 60,
    })
    .toMillis();

/**
 * Returns when a window is next open: `from` is not after `now` while it is.
 *
 * @param now milliseconds since 1970
 */
export function nextOpening({ days, start, end, zone }: Window, now: number): { from: number; to: number } {
  const today = DateTime.fromMillis(now, { zone }).startOf("day");
  // A window of yesterday may last over midnight. One that a clock change leaves no time opens a week later.
  for (let ahead = -1; ahead <= 15; ahead++) {
    const day = today.plus({ days: ahead });
    if (!days.has(day.weekday)) continue;
    const opening = { from: timeOn(day, start), to: timeOn(day, end > start ? end : end + MINUTES_OF_DAY) };
    if (now < opening.to && opening.from < opening.to) return opening;
  }
  throw new Error("the window never opens");
}

/** Returns whether it is open; true without a window. */
export const isOpenAt = (window: Window | undefined, now: number): boolean =>
  window === undefined || nextOpening(window, now).from <= now;
