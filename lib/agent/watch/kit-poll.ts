import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { entryCalled } from "../../artifact/kits/kit-folder.ts";
import { KIT_FILE } from "../../contract/kits/limits.ts";
import type { Target } from "../../contract/target.ts";
import { layoutOf } from "../../releases/layout.ts";
import { missing } from "../../support/files.ts";
import { type KitChoice, openHostKit } from "../sources/kits/host-kit.ts";
import type { Poll } from "./target.ts";

/** Answer where no kit is there: nothing is to do, and the stick may come. */
const NO_KIT = { changed: true, etag: null, latest: { version: null, identity: null, yanked: [] } } as const;

/**
 * Returns a poll of a folder to which kits come, such as that of a stick. Looks at the kit again only when its file is
 * another one. A folder that is not there, or has no kit, is no failure.
 */
export function kitPoll(choice: KitChoice, target: Target, projectRoot: string): Poll {
  const layout = layoutOf(resolve(projectRoot));
  return async (etag) => {
    const mark = await markOf(choice.folder);
    if (mark === undefined) return NO_KIT;
    if (mark === etag) return { changed: false };
    const { text } = await openHostKit(choice, target, { layout, emit: () => {} });
    const { version, project, archive } = text;
    const identity = project?.signature ?? `sha256:${archive!.sha256}`;
    const isSigned = archive === undefined || archive.signature !== null;
    const rootVersion = project?.root_version ?? archive?.root_version;
    return {
      changed: true,
      etag: mark,
      latest: { version, identity, isSigned, yanked: [], ...(rootVersion !== undefined && { rootVersion }) },
    };
  };
}

/** Returns a text that changes with the kit in a folder; undefined where there is none. */
async function markOf(folder: string): Promise<string | undefined> {
  try {
    const stats = await stat(folder);
    if (!stats.isDirectory()) return undefined;
    const entry = await entryCalled(folder, KIT_FILE);
    if (entry === undefined) return undefined;
    const { mtimeMs, size, ino } = await stat(join(folder, entry));
    return `kit ${folder} ${mtimeMs} ${size} ${ino}`;
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}
