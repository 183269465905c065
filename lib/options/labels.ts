import { usageError } from "../contract/errors.ts";
import { labelOf } from "../contract/labels.ts";
import { connection } from "./connection.ts";
import { flag, text } from "./kinds.ts";
import { group, required } from "./option.ts";

/** Options of `fleet label`. */
export const fleetLabel = {
  ...group("Labels", { reset: flag({ help: "Let the host's own labels count again" }) }),
  ...connection,
};

/** Options of `fleet out`. */
export const fleetOut = {
  ...group("Host", { reason: required(text({ help: "Reason, which fleets show", metavar: "TEXT" })) }),
  ...connection,
};

/** Parses labels as people write them: `env=prod`. @throws UsageError `usage` for any other text */
export function labelsOf(texts: readonly string[]): Record<string, string> {
  const pairs = texts.map((text) => {
    const label = labelOf(text);
    if (label === undefined)
      throw usageError("usage", `A label is a name and a value such as env=prod, not ${JSON.stringify(text)}.`);
    return label;
  });
  return Object.fromEntries(pairs);
}
