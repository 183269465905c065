/** Makes foreign text safe for a terminal: it cannot move the cursor, change the title or the direction of writing. */

/** Makes one line safe to show: without escape sequences, control and format characters. */
export function printable(text: string): string {
  return text
    .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])?/g, "")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Makes one line safe to show, but keeps its tabs. */
export const printableLine = (text: string): string => text.split("\t").map(printable).join("\t");

/** Returns a text of several lines without it; lines stay lines and tabs stay tabs. */
export const printableLines = (text: string): string => text.split("\n").map(printableLine).join("\n");

/** Matches characters that JSON leaves unescaped, though terminals or readers of lines interpret them. */
const OBEYED = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

const unitsOf = (character: string): string =>
  character.split("").reduce((text, unit) => `${text}\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`, "");

/** Formats a value as one line of JSON with such characters escaped: the same value for every reader. */
export const printableJson = (value: unknown): string => JSON.stringify(value).replace(OBEYED, unitsOf);

/** Matches the user information of URLs, with the marks around it. */
const USER_INFO = /\/\/([^/?#\s]*)@/g;

/** Returns a text without the user names and passwords of its URLs. */
export const withoutPasswords = (text: string): string => text.replaceAll(USER_INFO, "//…@");

/** Returns the passwords in the URLs of a text, as they are written there; the user name where a URL has it alone. */
export const passwordsIn = (text: string): string[] =>
  Array.from(text.matchAll(USER_INFO), ([, info]) => info!.slice(info!.indexOf(":") + 1));
