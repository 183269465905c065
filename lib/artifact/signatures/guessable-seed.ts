/** Distinct bytes that 32 random ones have at the least; fewer come about once in 10^20 seeds. */
const MIN_DISTINCT_BYTES = 16;

/** Seeds that stand in specifications and documents: RFC 8032, section 7.1, and RFC 8410, section 10.3. */
const PUBLISHED = new Set([
  "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
  "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
  "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
  "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
  "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
  "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842",
]);

/** True for a seed that is a pattern (repeated or counted bytes), or one that everybody knows. */
export function isGuessableSeed(seed: Uint8Array): boolean {
  if (new Set(seed).size < MIN_DISTINCT_BYTES) return true;
  const step = (seed[1]! - seed[0]!) & 0xff;
  if (seed.every((byte, index) => index === 0 || ((byte - seed[index - 1]!) & 0xff) === step)) return true;
  return PUBLISHED.has(Buffer.from(seed).toString("hex"));
}
