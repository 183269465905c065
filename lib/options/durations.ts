const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Parses a duration to milliseconds: "90s", "5m", "90d" or "250ms"; "90" are seconds unless a unit is needed.
 *
 * @throws Error whose message continues "--name …"
 */
export function parseDuration(text: string, needsUnit = false): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  if (match === null)
    throw new Error(`is a time such as ${needsUnit ? "" : "60, "}90s, 5m or 90d, not ${JSON.stringify(text)}`);
  const [, number, unit] = match;
  if (needsUnit && unit === undefined && Number(number) !== 0)
    throw new Error(`needs a unit: ${number}s, ${number}m, ${number}h or ${number}d, not ${JSON.stringify(text)}`);
  return Math.round(Number(number) * UNITS_MS[(unit ?? "s") as keyof typeof UNITS_MS]);
}

/** Formats milliseconds by the largest unit that fits: `90d`, `250ms`. */
export function durationText(ms: number): string {
  const [unit, unitMs] = Object.entries(UNITS_MS).findLast(([, length]) => ms % length === 0) ?? ["ms", 1];
  return `${ms / unitMs}${unit}`;
}
