import { watch } from "node:fs";
import { LOCAL_FOLDER } from "./type-paths.ts";

/** Time in which several events count as one save, in milliseconds. */
const QUIET_MS = 100;
/** Folders in which changes are not a change of the code, at any depth. */
const UNWATCHED: ReadonlySet<string> = new Set(["node_modules", ".git", LOCAL_FOLDER]);
/** Folder for what the plugin writes. */
const DATA = "data";

/** Calls `work` after each change of a plugin's code below a folder, one call at a time. `work` must not reject. */
export function onChange(folder: string, work: () => Promise<void>): Disposable {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const watcher = watch(folder, { recursive: true }, (_event, path) => {
    const parts = path?.split(/[/\\]/) ?? [];
    if (parts[0] === DATA || parts.some((part) => UNWATCHED.has(part))) return;
    clearTimeout(timer);
    timer = setTimeout(() => void (running = running.then(work)), QUIET_MS);
  });
  // The next step reports a folder that vanishes while it is watched.
  watcher.on("error", () => undefined);
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      watcher.close();
    },
  };
}
