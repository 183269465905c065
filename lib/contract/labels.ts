/** Labels of a host as texts, such as `env=prod`: without a schema, for programs that start without one. */
export type Labels = Record<string, string>;

export const MAX_LABELS = 16;
export const LABEL_NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
export const LABEL_VALUE = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

/** Reads `env=prod`. @returns undefined when it is not a label */
export function labelOf(text: string): [name: string, value: string] | undefined {
  const at = text.indexOf("=");
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  return at > 0 && LABEL_NAME.test(name) && LABEL_VALUE.test(value) ? [name, value] : undefined;
}

/** Writes labels as a header carries them: `env=prod,region=eu`. */
export const labelsText = (given: Labels): string =>
  Object.entries(given)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

/** Parses the labels in a header, and ignores malformed ones, since hosts may claim anything. */
export const labelsIn = (text: string): Labels =>
  Object.fromEntries(
    text
      .split(",", MAX_LABELS)
      .map((part) => labelOf(part.trim()))
      .filter((label) => label !== undefined),
  );
