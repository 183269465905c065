import { usageError } from "../contract/errors.ts";
import * as staging from "../contract/staging/routes.ts";
import type { ApprovedVersion, StagedVersion, StagingOutcome } from "../contract/staging/staging.ts";
import { ask, type Asking, askPages } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";

/** Fewest characters of a digest by which a version may be named. */
const LEAST_CHARACTERS = 12;

/**
 * Client of versions that wait for approval (docs/contract/staging.md). @throws AuthenticationError, DeploymentError
 */
export class StagingClient {
  readonly #asking: Asking;

  constructor(hub: HubConnection) {
    this.#asking = { operation: "keys", hub };
  }

  /** Lists versions that wait for approval, page by page. */
  list(): AsyncGenerator<StagedVersion> {
    return askPages(staging.listStaged, {}, this.#asking);
  }

  show(id: string, version: string): Promise<StagedVersion> {
    return ask(staging.showStaged, { params: { id, version } }, this.#asking);
  }

  /** Tells what has become of a version that was staged. @throws DeploymentError `not_found` once it is gone */
  outcome(id: string, version: string): Promise<StagingOutcome> {
    return ask(staging.showOutcome, { params: { id, version } }, this.#asking);
  }

  /**
   * Finds versions by their digests, or by prefixes of these.
   *
   * @throws UsageError `usage` for a text that is not a digest, or that matches no version, or several
   */
  async called(digests: readonly string[]): Promise<StagedVersion[]> {
    for (const digest of digests)
      if (!/^[0-9a-f]+$/.test(digest) || digest.length < LEAST_CHARACTERS || digest.length > 64)
        throw usageError(
          "usage",
          `DIGEST is a SHA-256 or its first ${LEAST_CHARACTERS} or more digits, not ${digest}.`,
          {
            hint: "`sealift stage list` shows digests.",
          },
        );
    const waiting = await Array.fromAsync(this.list());
    return digests.map((digest) => {
      const [found, ...others] = waiting.filter(({ sha256 }) => sha256.startsWith(digest));
      const hint = "`sealift stage list` shows what waits for approval.";
      if (found === undefined) throw usageError("usage", `No staged version has the digest ${digest}.`, { hint });
      if (others.length > 0) throw usageError("usage", `Several staged versions have the digest ${digest}.`, { hint });
      return found;
    });
  }

  /** Approves versions, all or none. */
  async approve(versions: readonly ApprovedVersion[]) {
    return (await ask(staging.approveStaged, { body: { versions: [...versions] } }, this.#asking)).versions;
  }

  /** Removes a staged version. */
  reject(id: string, version: string, reason: string): Promise<void> {
    return ask(staging.rejectStaged, { params: { id, version }, body: { reason } }, this.#asking);
  }

  /** Sets whether new versions require approval. */
  requireApproval(id: string, required: boolean): Promise<{ required: boolean }> {
    return ask(staging.requireApproval, { params: { id }, body: { required } }, this.#asking);
  }
}
