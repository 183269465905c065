import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { entryCalled, openKitFolder, readRegular } from "../../artifact/kits/kit-folder.ts";
import { KIT_FILE, MAX_KIT_BYTES } from "../../contract/kits/limits.ts";
import { type Target, targetText } from "../../contract/target.ts";
import { layoutOf } from "../../releases/layout.ts";
import { missing } from "../../support/files.ts";
import { type KitChoice, openHostKit } from "../sources/kits/host-kit.ts";
import type { Poll } from "./target.ts";

/** Answer where no kit is there: nothing is to do, and the stick may come. */
const NO_KIT = { changed: true, etag: null, latest: { version: null, identity: null, yanked: [] } } as const;

/**
 * Returns a poll of a folder to which kits come, such as that of a stick. Opens the kit again only when its text is
 * another one. A folder that is not there, or has no kit, is no failure.
 */
export function kitPoll(choice: KitChoice, target: Target, projectRoot: string): Poll {
  const layout = layoutOf(resolve(projectRoot));
  return async (etag) => {
    const mark = await markOf(choice.folder);
    if (mark === undefined) return NO_KIT;
    if (mark === etag) return { changed: false };
    const { target: of } = (await openKitFolder(choice.folder)).text;
    // One folder may be that of several targets: the kit of another one is none for this one.
    if (of !== targetText(target))
      return { ...NO_KIT, etag: mark, notice: `The kit in ${choice.folder} is of ${of}: nothing is to do here.` };
    const { text } = await openHostKit(choice, target, { layout, emit: () => {} });
    const { version, made_at: kitMadeAt, project, archive } = text;
    const identity = project?.signature ?? `sha256:${archive!.sha256}`;
    const isSigned = archive === undefined || archive.signature !== null;
    const rootVersion = project?.root_version ?? archive?.root_version;
    return {
      changed: true,
      etag: mark,
      latest: { version, identity, isSigned, yanked: [], kitMadeAt, ...(rootVersion !== undefined && { rootVersion }) },
    };
  };
}

/**
 * Returns a text that changes with the kit in a folder; undefined where there is none. Kits of one project have one
 * size, and FAT tells times to two seconds: only the text itself tells two sticks apart.
 */
async function markOf(folder: string): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return undefined;
    const entry = await entryCalled(folder, KIT_FILE);
    if (entry === undefined) return undefined;
    const text = await readRegular(join(folder, entry), MAX_KIT_BYTES);
    return `kit ${folder} ${createHash("sha256").update(text).digest("hex")}`;
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}
