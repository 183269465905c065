import { closeSync, openSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import type { ZipIndex } from "./directory.ts";
import { FileWindow } from "./file-window.ts";
import { MemberStreams } from "./second-reader.ts";
import { isSmall, largeContent, smallContent } from "./unzip-member.ts";

/** Bytes that are inflated before the event loop has its turn. */
const TURN_BYTES = 1024 * 1024;
const WINDOW_BYTES = 256 * 1024;

/**
 * Inflates every file of a scanned archive and compares sizes and CRCs, as unpacking does, without writing anything.
 *
 * @throws ArtifactError `zip_invalid`
 */
export async function checkContents(path: string, { files }: ZipIndex): Promise<void> {
  const descriptor = openSync(path, "r");
  try {
    const archive = new FileWindow(descriptor, WINDOW_BYTES);
    const streams = new MemberStreams(descriptor);
    const pace = paceBuffers("inflated");
    let sinceTurn = 0;
    for (const member of files) {
      if (!isSmall(member)) {
        await largeContent(streams, member, () => {});
        continue;
      }
      const { length } = smallContent(archive, member);
      pace(length);
      sinceTurn += length + 4096;
      if (sinceTurn < TURN_BYTES) continue;
      sinceTurn = 0;
      await nextTurn();
    }
  } finally {
    closeSync(descriptor);
  }
}
