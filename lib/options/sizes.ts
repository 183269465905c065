/** Pattern of a size as people write it, for schemas. */
export const SIZE_PATTERN = String.raw`\d+(?:[KkMmGgTt](?:[Ii]?[Bb])?)?`;

/** Reads a size in bytes: a number, or with K, M, G or T (powers of 1024). Undefined for anything else. */
export function parseSize(written: string): number | undefined {
  const match = /^(\d+)(?:([KMGT])(?:i?B)?)?$/i.exec(written);
  if (match === null) return undefined;
  return Number(match[1]) * 1024 ** (match[2] === undefined ? 0 : "KMGT".indexOf(match[2].toUpperCase()) + 1);
}

/** Returns a size as {@link parseSize} reads it. */
export function sizeText(bytes: number): string {
  const power = [4, 3, 2, 1].find((exponent) => bytes > 0 && bytes % 1024 ** exponent === 0) ?? 0;
  return `${bytes / 1024 ** power}${["", "K", "M", "G", "T"][power]}`;
}
