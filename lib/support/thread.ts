import { realpathSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { dirname, extname } from "node:path";
import { type ResourceLimits, Worker } from "node:worker_threads";
import { IS_ONE_FILE, threadText } from "./one-file.ts";

/** Default heap limits of a thread. The young heap is small, so that it is collected often. */
const HEAP_LIMITS: ResourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 8 };

/**
 * Passes on the folder of compiled code, since Node reads each thread's environment anew. Resolves a link to it, which
 * a program that loads plugins removes: a thread would make a folder of that name.
 */
function compiledCode(): Record<string, string> {
  const directory = getCompileCacheDir();
  if (directory === undefined) return {};
  try {
    return { NODE_COMPILE_CACHE: realpathSync(dirname(directory)), NODE_COMPILE_CACHE_PORTABLE: "1" };
  } catch {
    return {};
  }
}

/**
 * Starts a thread of this program. It gets no secret of the process's environment and no hooks of a test runner.
 *
 * @param module URL of the calling module
 * @param name of the thread's file beside the calling module, without its extension
 */
export function startThread(module: string, name: string, data: unknown, limits: ResourceLimits = {}): Worker {
  return new Worker(IS_ONE_FILE ? threadText(name) : new URL(`./${name}${extname(module)}`, module), {
    eval: IS_ONE_FILE,
    workerData: data,
    env: compiledCode(),
    execArgv: [],
    resourceLimits: { ...HEAP_LIMITS, ...limits },
  });
}
