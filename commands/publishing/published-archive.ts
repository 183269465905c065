import type { MarketplaceClient } from "../../lib/client/marketplace-client.ts";
import type { Target } from "../../lib/contract/target.ts";
import type { RetryEvent } from "../../lib/publisher/upload.ts";
import { counted } from "../../lib/support/counted.ts";
import type { SealiftCommand } from "../shell/base.ts";
import { signedBy, storedAs, whoGetsIt } from "../shell/output/version-state.ts";
import type { Additions } from "./feature.ts";
import { retryLine } from "./publish-events.ts";

/** Warning for a record without `signer_public_key`, although the archive was signed. */
const NOT_KEPT = "The hub does not know signatures of authors: the version is published without yours.";

/** Returns a listener that prints the attempts of an upload: events with `--json`, else remarks. */
export const tellingRetries =
  ({ json, note, print }: Pick<ReturnType<SealiftCommand["surroundings"]>, "json" | "note" | "print">) =>
  (event: RetryEvent): void =>
    json ? print.event(event) : note(retryLine(event));

/**
 * Ends a command that has published an archive: adds what belongs to it, and says what is stored and who gets it.
 *
 * @param seed of the author who has signed it, if one has
 */
export async function endPublication(
  { json, note, print, done }: Pick<ReturnType<SealiftCommand["surroundings"]>, "json" | "note" | "print" | "done">,
  { kind, slug }: Target,
  { release, unchanged }: Awaited<ReturnType<MarketplaceClient["publish"]>>,
  { seed, additions }: { seed: Uint8Array | undefined; additions: Additions },
): Promise<number> {
  const { version, size_bytes: size, sha256, state, signer_public_key: signer } = release;
  if (seed !== undefined && signer === undefined) note(`warning: ${NOT_KEPT}`);
  const added = await additions.add({ kind, slug }, { version }, signer === undefined ? undefined : seed);
  if (json) return done({ release, unchanged, ...added.result });
  const facts = `(${counted(size, "byte")}, sha256 ${sha256.slice(0, 16)}…)`;
  print.line(`${storedAs(state, unchanged)} ${slug} ${version} ${facts}${signedBy(signer)}`);
  const notice = whoGetsIt(state, { target: slug, version, sha256 });
  if (notice !== undefined) print.line(notice);
  return done({});
}
