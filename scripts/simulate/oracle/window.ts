/** Windows as the page describes them, for the zones that the simulation uses, implemented independently. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** Returns midnight UTC of the nth Sunday of a month; 0 is the last one. @param month from 0 */
function sunday(year: number, month: number, nth: number): number {
  if (nth === 0) {
    const last = Date.UTC(year, month + 1, 0);
    return last - new Date(last).getUTCDay() * DAY;
  }
  const first = Date.UTC(year, month, 1);
  return first + (((7 - new Date(first).getUTCDay()) % 7) + (nth - 1) * 7) * DAY;
}

/** Returns the milliseconds by which the clocks of a zone are ahead of UTC. */
function offset(zone: string, at: number): number {
  const year = new Date(at).getUTCFullYear();
  if (zone === "UTC") return 0;
  if (zone === "Europe/Berlin") {
    const isSummer = at >= sunday(year, 2, 0) + HOUR && at < sunday(year, 9, 0) + HOUR;
    return (isSummer ? 2 : 1) * HOUR;
  }
  if (zone === "America/New_York") {
    const isSummer = at >= sunday(year, 2, 2) + 7 * HOUR && at < sunday(year, 10, 1) + 6 * HOUR;
    return (isSummer ? -4 : -5) * HOUR;
  }
  throw new Error(`The oracle knows no zone ${zone}.`);
}

/** Returns the opening that a moment is in, else the next one. */
export function opening(text: string, now: number): { from: number; to: number } {
  const [days, hours, zone] = text.split(" ") as [string, string, string];
  const [firstDay, lastDay = firstDay] = days.split("-").map((day) => DAYS.indexOf(day)) as [number, number?];
  const [from, to] = hours.split("-").map((time) => {
    const [hour, minute] = time.split(":").map(Number) as [number, number];
    return hour * HOUR + minute * MINUTE;
  }) as [number, number];
  /** Returns the moment at which a wall clock of the zone shows a time; none of the times used occurs twice. */
  const momentOf = (wall: number): number => wall - offset(zone, wall - offset(zone, wall));
  const midnight = Math.floor((now + offset(zone, now)) / DAY) * DAY;
  for (let ahead = -1; ahead < 9; ahead++) {
    const day = midnight + ahead * DAY;
    const weekday = new Date(day).getUTCDay();
    if ((weekday - firstDay + 7) % 7 > (lastDay - firstDay + 7) % 7) continue;
    const found = { from: momentOf(day + from), to: momentOf(day + to + (to > from ? 0 : DAY)) };
    if (now < found.to) return found;
  }
  throw new Error(`The oracle finds no opening of ${text}.`);
}

export const isOpen = (window: string | null, now: number): boolean =>
  window === null || opening(window, now).from <= now;
