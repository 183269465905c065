import * as z from "zod";

/** Labels of a host, such as `env=prod`: rollouts choose hosts by them (docs/contract/rollouts.md). */

const MAX_LABELS = 16;
const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/;
const VALUE = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

const labelName = z.string().regex(NAME, "must be 1 to 63 of a-z, 0-9, _, . and -");
const labelValue = z.string().regex(VALUE, "must be 1 to 63 letters, digits, _, . and -");

export const labels = z
  .record(labelName, labelValue)
  .refine((given) => Object.keys(given).length <= MAX_LABELS, `must be ${MAX_LABELS} labels at most`);
export type Labels = z.infer<typeof labels>;

/** Reads `env=prod`. @returns undefined when it is no label */
export function labelOf(text: string): [name: string, value: string] | undefined {
  const at = text.indexOf("=");
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  return at > 0 && NAME.test(name) && VALUE.test(value) ? [name, value] : undefined;
}

/** Writes labels as a header carries them: `env=prod,region=eu`. */
export const labelsText = (given: Labels): string =>
  Object.entries(given)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

/** Reads the labels of a header. What is no label is left out: a host says of itself what it likes. */
export const labelsIn = (text: string): Labels =>
  Object.fromEntries(
    text
      .split(",", MAX_LABELS)
      .map((part) => labelOf(part.trim()))
      .filter((label) => label !== undefined),
  );
