import type { Logger } from "../../support/logging.ts";
import type { Blobs } from "../blobs/port.ts";

/** Most blobs that one request moves to the trash. */
const MOST_BLOBS = 500;

/** Moves bytes to the trash, which keeps them in case the database is restored. The sweep moves what this misses. */
export async function trashBlobs(
  { blobs, logger }: { blobs: Blobs; logger: Logger | undefined },
  ids: readonly string[],
): Promise<void> {
  for (const blob of ids.slice(0, MOST_BLOBS)) {
    await blobs.moveToTrash(blob).catch((error: unknown) => {
      logger?.warn({ err: error, blob }, "a deleted version's bytes wait for the sweep");
    });
  }
}
