import { syncBuiltinESMExports } from "node:module";

/**
 * Closes what Node's permission model leaves open, before any code of the plugin is loaded:
 * - signals: Node restricts neither `process.kill` nor `_debugProcess`, so a sandbox could end or debug the runtime
 *   and siblings;
 * - `os.setPriority` works on any process of the same user;
 * - `node:sqlite` opens, creates and attaches files anywhere (seen with 26.10: `new DatabaseSync("/tmp/x")` and
 *   `VACUUM INTO`);
 * - a `ChildProcess` that was never spawned still has a handle with `kill`;
 * - `fs.cpSync` makes links, see below;
 * - `v8.setFlagsFromString` can raise the heap's limit.
 */

const GONE_FROM_PROCESS = [
  "kill",
  "_kill",
  "_debugProcess",
  "_debugEnd",
  "_startProfilerIdleNotifier",
  "_stopProfilerIdleNotifier",
  "_getActiveHandles",
  "_getActiveRequests",
  "binding",
  "_linkedBinding",
  "execve",
  "setuid",
  "seteuid",
  "setgid",
  "setegid",
  "setgroups",
  "initgroups",
];

const REFUSED_EXPORTS: Record<string, readonly string[] | "all"> = {
  os: ["setPriority"],
  v8: ["setFlagsFromString", "setHeapSnapshotNearHeapLimit"],
  child_process: "all",
  cluster: ["fork", "setupPrimary", "setupMaster"],
  "node:sqlite": "all",
};

function refusal(name: string): (...parameters: unknown[]) => never {
  // A function, not an arrow: `new DatabaseSync()` must fail here as well.
  return function refused() {
    throw Object.assign(new Error(`${name} is not available to a sandboxed plugin.`), { code: "ERR_ACCESS_DENIED" });
  };
}

let lastRefusal: string | undefined;

/** Returns why the last native addon was refused: packages hide it behind advice of their own. Undefined for none. */
export const addonRefusal = (): string | undefined => lastRefusal;

/** Refuses a native addon as Node itself does where addons are switched off; packages quote the message. */
function refuseAddon(_module: unknown, file: unknown): never {
  const name = typeof file === "string" ? file.slice(file.lastIndexOf("/") + 1) : "This file";
  const message = `${name} is a native addon, which no sandbox loads: native addons need execution_mode: trusted.`;
  lastRefusal = message;
  throw Object.assign(new Error(message), { code: "ERR_DLOPEN_DISABLED" });
}

const fixed = (value: unknown): PropertyDescriptor => ({
  value,
  writable: false,
  configurable: false,
  enumerable: true,
});

/**
 * Closes a hole in `fs.cpSync`, which copies links in native code, though the permission model forbids a plugin to make
 * them. With a filter it takes a path that checks.
 */
function closeCpSync(): void {
  const fs = process.getBuiltinModule("fs");
  const { cpSync } = fs;
  const checked: typeof cpSync = (source, destination, options) =>
    cpSync(source, destination, { ...options, filter: options?.filter ?? (() => true) });
  Object.defineProperty(fs, "cpSync", fixed(checked));
}

export function lockDown(): void {
  closeCpSync();
  for (const name of GONE_FROM_PROCESS) {
    Object.defineProperty(process, name, { ...fixed(undefined), enumerable: false });
  }
  Object.defineProperty(process, "dlopen", { ...fixed(refuseAddon), enumerable: false });
  for (const [module, names] of Object.entries(REFUSED_EXPORTS)) {
    const exported = process.getBuiltinModule(module) as unknown as Record<string, unknown> | undefined;
    if (exported === undefined) continue;
    for (const name of names === "all" ? Object.keys(exported) : names) {
      if (typeof exported[name] !== "function") continue;
      Object.defineProperty(exported, name, fixed(refusal(`${module}.${name}`)));
    }
  }
  syncBuiltinESMExports();
}
