import { watch } from "node:fs";
import { LOCAL_FOLDER } from "./type-paths.ts";

/** Several events of one save count as one. */
const QUIET_MS = 100;
/** Folders whose changes are no change of the code. */
const UNWATCHED: ReadonlySet<string> = new Set(["data", "node_modules", ".git", LOCAL_FOLDER]);

/** Calls `work` after each change of a plugin's code below a folder, one at a time. `work` must not reject. */
export function onChange(folder: string, work: () => Promise<void>): Disposable {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const watcher = watch(folder, { recursive: true }, (_event, path) => {
    if (path?.split(/[/\\]/).some((part) => UNWATCHED.has(part)) === true) return;
    clearTimeout(timer);
    timer = setTimeout(() => void (running = running.then(work)), QUIET_MS);
  });
  // A folder that vanishes while it is watched is told by what is done next.
  watcher.on("error", () => undefined);
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      watcher.close();
    },
  };
}
