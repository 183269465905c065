/**
 * Text of hubs, plugins and hosts without what a terminal would obey: escape sequences, control and format characters.
 */
export function printable(text: string): string {
  return text
    .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])?/g, "")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

/** The same for text of several lines, which stay lines. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");
