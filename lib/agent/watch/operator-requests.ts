import { watch } from "node:fs";
import { chown, realpath, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TargetName } from "../../contract/target.ts";
import type { Layout } from "../../releases/layout.ts";
import { inFolder } from "../../releases/open-folder.ts";
import { isForeignRoot } from "../../releases/project-root.ts";
import { makeFolder, namesIn } from "../../support/files.ts";
import { WATCH_ACTIONS, type WatchAction } from "./events.ts";

/**
 * A person reaches a watch without a terminal by an empty file `.sealift/requests/<target>.<action>` in the project
 * root, where only those who may deploy can write. The loop removes the file and carries out the request; without a
 * loop it waits for the next one.
 */
const REQUESTS = "requests";
const folderOf = (layout: Layout): string => join(layout.sealift, REQUESTS);

/** Time in which further file system events of the same change may follow, in milliseconds. */
const SETTLE_MS = 50;

const CONTRARY: Partial<Record<WatchAction, WatchAction>> = { pause: "resume", resume: "pause" };

/**
 * Sends a request to the watch that follows the target in this project root. The last of `pause` and `resume` counts.
 * Root may do so in another user's folder: links that the user planted there are not followed.
 *
 * @throws DeploymentError `root_unusable` when the place for requests is a link
 */
export async function requestAction(layout: Layout, target: TargetName, action: WatchAction): Promise<void> {
  await makeFolder(layout.sealift);
  const isForeign = await isForeignRoot(layout, { allowForeignRoot: true });
  const root = isForeign ? layout.sealift : await realpath(layout.sealift);
  await inFolder(root, layout.sealift, async (sealift) => {
    const place = sealift.path(REQUESTS);
    const made = await makeFolder(place);
    await inFolder(place, folderOf(layout), async (folder) => {
      if (made !== undefined && process.getuid?.() === 0) {
        // The watch has to be able to remove the request.
        const { uid, gid } = await stat(sealift.path("."));
        await chown(folder.path("."), uid, gid);
      }
      const contrary = CONTRARY[action];
      if (contrary !== undefined) await rm(folder.path(`${target}.${contrary}`), { force: true });
      await writeFile(folder.path(`${target}.${action}`), "", { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
        // EEXIST: it was asked for before, and the watch has not answered yet.
        if (error.code !== "EEXIST") throw error;
      });
    });
  });
}

async function asked(layout: Layout, target: TargetName): Promise<WatchAction[]> {
  const names = await namesIn(folderOf(layout));
  return WATCH_ACTIONS.filter((action) => names.includes(`${target}.${action}`));
}

/** True when something was asked of a target. */
export async function hasRequests(layout: Layout, target: TargetName): Promise<boolean> {
  return (await asked(layout, target)).length > 0;
}

/** Takes the pending requests of a target, in the order of {@link WATCH_ACTIONS}. */
export async function takeRequests(layout: Layout, target: TargetName): Promise<WatchAction[]> {
  const taken = await asked(layout, target);
  for (const action of taken) await rm(join(folderOf(layout), `${target}.${action}`), { force: true });
  return taken;
}

/**
 * Calls back when a request for a target arrives. Where its project root cannot be watched, every check reads requests
 * anyway.
 *
 * @param root whose layout may change while this is in use
 */
export async function onRequests(
  root: { readonly layout: Layout },
  target: TargetName,
  callback: () => void,
): Promise<Disposable> {
  const look = async (): Promise<void> => {
    await sleep(SETTLE_MS, undefined, { ref: false });
    // If requests cannot be read, the next check says so.
    if (await hasRequests(root.layout, target).catch(() => true)) callback();
  };
  try {
    const folder = folderOf(root.layout);
    await makeFolder(folder);
    const watcher = watch(folder, { persistent: false }, () => void look());
    watcher.on("error", () => watcher.close());
    return { [Symbol.dispose]: () => watcher.close() };
  } catch {
    return { [Symbol.dispose]: () => {} };
  }
}
