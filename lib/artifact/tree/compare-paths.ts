const SLASH = 0x2f;

/**
 * Orders paths by their components compared by code point: `a/b` comes before `a-b/c`
 * (docs/contract/project-artifact.md).
 */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    let x = a.charCodeAt(i);
    let y = b.charCodeAt(i);
    if (x === y) continue;
    // A component that ends here comes before one that continues.
    if (x === SLASH) return -1;
    if (y === SLASH) return 1;
    // UTF-16 order differs beyond the basic plane: surrogates stand for code points above every other unit, so they are
    // lifted over U+E000..U+FFFF.
    if (x >= 0xd800) x = x >= 0xe000 ? x - 0x800 : x + 0x2000;
    if (y >= 0xd800) y = y >= 0xe000 ? y - 0x800 : y + 0x2000;
    return x - y;
  }
  return a.length - b.length;
}
