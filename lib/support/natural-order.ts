const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/**
 * Compares names as people do: digits in a row are one number, so that `host-9` comes before `host-10`. Everything else
 * is in the order of its UTF-16 code units. Names that differ are never equal.
 */
export function naturally(a: string, b: string): number {
  let [left, right] = [0, 0];
  while (left < a.length && right < b.length) {
    const [x, y] = [a.charCodeAt(left), b.charCodeAt(right)];
    if (!isDigit(x) || !isDigit(y)) {
      if (x !== y) return x - y;
      left++;
      right++;
      continue;
    }
    const [one, other] = [numberAt(a, left), numberAt(b, right)];
    const [digits, others] = [one.end - one.start, other.end - other.start];
    if (digits !== others) return digits - others;
    for (let offset = 0; offset < digits; offset++) {
      const difference = a.charCodeAt(one.start + offset) - b.charCodeAt(other.start + offset);
      if (difference !== 0) return difference;
    }
    [left, right] = [one.end, other.end];
  }
  // Names that differ in leading zeros alone.
  return a.length - left - (b.length - right) || (a < b ? -1 : a > b ? 1 : 0);
}

/** Finds the digits of a number without its leading zeros. */
function numberAt(text: string, at: number): { start: number; end: number } {
  let start = at;
  while (text.charCodeAt(start) === 48 && isDigit(text.charCodeAt(start + 1))) start++;
  let end = start + 1;
  while (isDigit(text.charCodeAt(end))) end++;
  return { start, end };
}
