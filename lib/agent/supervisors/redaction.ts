import { passwordsIn } from "../../support/printable.ts";

/** Least characters of a setting's value that is taken out of a log: shorter ones stand in many words by chance. */
const LEAST_SECRET = 6;

const HIDDEN = "[redacted]";

/** Returns what is secret of a value: the whole, each of its lines, and passwords of its URLs, in each form. */
function secretsOf(value: string): string[] {
  const whole = [value, ...value.split(/\r?\n/)].map((part) => part.trim());
  const passwords = passwordsIn(value).flatMap((written) => [written, decoded(written)]);
  return [...whole, ...passwords].flatMap((secret) => [secret, ...encoded(secret)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A sign of per cent that encodes nothing.
    return text;
  }
}

/** Returns the forms that a text has in URLs: by `encodeURIComponent`, and as a password. */
function encoded(text: string): string[] {
  const url = new URL("http://host");
  url.password = text;
  return [encodeURIComponent(text.toWellFormed()), url.password];
}

/**
 * Returns a function that takes the values of settings out of a line of a log: whole, line by line where a value has
 * several, passwords of URLs among them, and the beginning of one at which the line was cut.
 *
 * @param maxCharacters at which lines were cut
 */
export function redactor(values: readonly string[], maxCharacters: number): (line: string) => string {
  const secrets = [...new Set(values.flatMap(secretsOf))]
    .filter((value) => value.length >= LEAST_SECRET)
    // A value that holds another one goes first.
    .toSorted((a, b) => b.length - a.length);
  return (line) => {
    const shown = secrets.reduce((text, value) => text.replaceAll(value, HIDDEN), line);
    if (line.length < maxCharacters) return shown;
    const begun = secrets.map((value) => lengthOfStart(shown, value));
    const cut = Math.max(0, ...begun);
    return cut === 0 ? shown : shown.slice(0, -cut) + HIDDEN;
  };
}

/** Returns how many characters at the end of a text are the beginning of a value; 0 for few, which say nothing. */
function lengthOfStart(text: string, value: string): number {
  for (let length = Math.min(value.length - 1, text.length); length >= LEAST_SECRET; length--)
    if (text.endsWith(value.slice(0, length))) return length;
  return 0;
}
