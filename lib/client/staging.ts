import { usageError } from "../contract/errors.ts";
import type { StagedVersion } from "../contract/staging/staging.ts";

/** Fewest characters of a digest by which a version may be named. */
const LEAST_CHARACTERS = 12;

/**
 * Finds staged versions by their digests, or by prefixes of these.
 *
 * @throws UsageError `usage` for a text that is not a digest, or that matches no version, or several
 */
export async function stagedCalled(
  digests: readonly string[],
  staged: AsyncIterable<StagedVersion>,
): Promise<StagedVersion[]> {
  for (const digest of digests)
    if (!/^[0-9a-f]+$/.test(digest) || digest.length < LEAST_CHARACTERS || digest.length > 64)
      throw usageError("usage", `DIGEST is a SHA-256 or its first ${LEAST_CHARACTERS} or more digits, not ${digest}.`, {
        hint: "`sealift stage list` shows digests.",
      });
  const waiting = await Array.fromAsync(staged);
  return digests.map((digest) => {
    const [found, ...others] = waiting.filter(({ sha256 }) => sha256.startsWith(digest));
    const hint = "`sealift stage list` shows what waits for approval.";
    if (found === undefined) throw usageError("usage", `No staged version has the digest ${digest}.`, { hint });
    if (others.length > 0) throw usageError("usage", `Several staged versions have the digest ${digest}.`, { hint });
    return found;
  });
}
