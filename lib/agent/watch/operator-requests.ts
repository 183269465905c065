import { watch } from "node:fs";
import { lchown, lstat, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import type { TargetName } from "../../contract/target.ts";
import type { Layout } from "../../releases/layout.ts";
import { ifThere, makeFolder } from "../../support/files.ts";
import { WATCH_ACTIONS, type WatchAction } from "./events.ts";

/**
 * The way in which a person reaches a watch that has no terminal: an empty file `.sealift/requests/<target>.<action>`
 * in the project root. Who may write there may deploy anyway. The loop takes the file away and does what it says;
 * without a loop it waits for the next one.
 */
const folderOf = (layout: Layout): string => join(layout.sealift, "requests");

const CONTRARY: Partial<Record<WatchAction, WatchAction>> = { pause: "resume", resume: "pause" };

/**
 * Asks the watch that follows the target in this project root. The last of `pause` and `resume` counts. Root may ask in
 * a folder of another user: what that one has planted there is not followed.
 *
 * @throws DeploymentError `root_unusable` when the place for requests is a link
 */
export async function requestAction(layout: Layout, target: TargetName, action: WatchAction): Promise<void> {
  const folder = folderOf(layout);
  const made = await makeFolder(folder);
  if (!(await lstat(folder)).isDirectory()) {
    throw deploymentError("root_unusable", `${folder} is not a folder.`, { hint: "Remove what stands in its place." });
  }
  if (made !== undefined && process.getuid?.() === 0) {
    // The watch has to remove the request.
    const { uid, gid } = await lstat(layout.sealift);
    await lchown(folder, uid, gid);
  }
  const contrary = CONTRARY[action];
  if (contrary !== undefined) await rm(join(folder, `${target}.${contrary}`), { force: true });
  await writeFile(join(folder, `${target}.${action}`), "", { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    // It was asked already.
    if (error.code !== "EEXIST") throw error;
  });
}

async function asked(layout: Layout, target: TargetName): Promise<WatchAction[]> {
  const names = (await ifThere(readdir(folderOf(layout)))) ?? [];
  return WATCH_ACTIONS.filter((action) => names.includes(`${target}.${action}`));
}

export async function hasRequests(layout: Layout, target: TargetName): Promise<boolean> {
  return (await asked(layout, target)).length > 0;
}

/** Takes what was asked of a target, in the order of {@link WATCH_ACTIONS}. */
export async function takeRequests(layout: Layout, target: TargetName): Promise<WatchAction[]> {
  const taken = await asked(layout, target);
  for (const action of taken) await rm(join(folderOf(layout), `${target}.${action}`), { force: true });
  return taken;
}

/**
 * Calls back whenever something may have been asked in a project root. Where that cannot be watched, every check looks
 * anyway.
 */
export async function onRequests(layout: Layout, callback: () => void): Promise<Disposable> {
  const folder = folderOf(layout);
  try {
    await makeFolder(folder);
    const watcher = watch(folder, { persistent: false }, callback);
    watcher.on("error", () => watcher.close());
    return { [Symbol.dispose]: () => watcher.close() };
  } catch {
    return { [Symbol.dispose]: () => {} };
  }
}
