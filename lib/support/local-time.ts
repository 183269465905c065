/** Times for people on a terminal: local, with their offset. Data use UTC (ISO 8601). */

const two = (value: number): string => String(value).padStart(2, "0");

/** Returns the time of day here, `14:03:37`. @param at milliseconds since 1970 */
export function clock(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Returns the day here, `2026-11-24`. @param at milliseconds since 1970 */
export function day(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Returns the offset of this place from UTC, `+01:00`. @param at milliseconds since 1970 */
export function offset(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** Returns `2026-11-24 14:03:37 +01:00`. @param at milliseconds since 1970 */
export const localTime = (at: number): string => `${day(at)} ${clock(at)} ${offset(at)}`;
