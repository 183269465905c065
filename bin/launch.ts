/** The start of every program. An old Node parses this file and nothing else before the check. */
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";

const REQUIRED = { major: 24, minor: 14 };
const [USAGE, UNSETTLED, TRY_AGAIN] = [2, 70, 75];
const FORWARDED: NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"];
/** Variable with the pid of the process that runs the program with the pinned Node. */
const LAUNCHER = "SEALIFT_LAUNCHER_PID";
const LAUNCHER_CHECK_MS = 500;
/** Time limit for a program without its launcher to end in order, in milliseconds. */
const LAST_WORK_MS = 30_000;
/** Same value as in `lib/support/one-file.ts`, which an old Node cannot load. */
const RUN_INSIDE = "--sealift-run";

interface LaunchOptions {
  /** Flags of Node that the program needs, except for help; without them the process becomes one that has them. */
  nodeFlags?: readonly string[];
  /** Variables of that process, unless they are set. */
  env?: Readonly<Record<string, string>>;
  /** Whether the program may do its work with little: then it calls what `main` is given before it does more. */
  isLean?: boolean;
  /** Whether nobody waits for its start: it compiles only what runs, and optimizes only what runs for long. */
  isPatient?: boolean;
  /** Whether other people's code may be loaded: none of it is kept in the folder of compiled code. */
  loadsPlugins?: boolean;
}

/**
 * Settings that keep a hub small. V8 would let its young heap grow to 64 MB of garbage, and the old one hold at least
 * as much garbage as live objects. The C library would give each thread 2 to 4 MB of its own.
 */
export const SMALL_HEAP = {
  nodeFlags: ["--max-semi-space-size=4", "--heap-growing-percent=50"],
  env: { MALLOC_ARENA_MAX: "1" },
} satisfies LaunchOptions;
const HEAVY = ["WebSocket", "CloseEvent", "MessageEvent"];

/** Tells whether a command line asks for help or the version, which needs no `node:http`. */
const isOnlyTold = (words: readonly string[]): boolean =>
  words.includes("--help") ||
  words.includes("-h") ||
  words[0] === "help" ||
  (words.length === 1 && /^(?:--version|-v|version)$/.test(words[0]!));

const isOneFile = (): boolean => process.getBuiltinModule("node:sea").isSea();
const isBuilt = (): boolean => import.meta.url.endsWith(".js");

/** Runs `main` on a Node that is new enough: this one, or else the pinned one where it is installed. */
export function launch(
  main: (prepare: () => void) => Promise<number>,
  { nodeFlags = [], env = {}, isLean = false, isPatient = false, loadsPlugins = false }: LaunchOptions = {},
): void {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < REQUIRED.major || (major === REQUIRED.major && minor < REQUIRED.minor)) return void runWithPinnedNode();
  endWithLauncher();
  // node:sqlite is stable enough; its warning on Node 24 would only be noise on stderr.
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (/(?:SQLite|process\.execve) is an experimental feature/.test(String(warning))) return;
    (emitWarning as (...args: unknown[]) => void)(warning, ...rest);
  };
  const isTold = isOnlyTold(process.argv.slice(2));
  const given = [...process.execArgv, ...(isOneFile() ? "" : (process.env.NODE_OPTIONS ?? "")).split(" ")];
  const missing = nodeFlags.filter((flag) => !given.includes(flag));
  const canRestart = process.execve !== undefined && process.platform !== "win32";
  if (missing.length > 0 && canRestart && !isTold) {
    const [, script = "", ...words] = process.argv;
    const flags = [...missing, ...process.execArgv];
    const args = isOneFile()
      ? [
          process.argv0,
          `--node-options=${flags.map((flag) => JSON.stringify(flag)).join(" ")}`,
          RUN_INSIDE,
          `dist/bin/${basename(script)}`,
        ]
      : [process.execPath, ...flags, script];
    process.execve!(process.execPath, [...args, ...words], { ...env, ...process.env });
  }
  const isCompiled = !loadsPlugins || (isBuilt() && !isOneFile());
  if (isPatient && !isTold) process.getBuiltinModule("node:v8").setFlagsFromString("--efficiency-mode --no-sparkplug");
  else if (isCompiled && !loadsPlugins) useCompiledCode();
  if (isCompiled) resolveOwnModules(loadsPlugins ? useCompiledCodeUntil() : undefined);
  const prepare = (): void => {
    if (isCompiled && !isTold) lightenHttp();
    outliveLostOutput();
  };
  if (!isLean) prepare();
  // Stacks refer to the sources. The maps are read when a stack is.
  module.setSourceMapsSupport(true, { nodeModules: true });
  expectResult();
  main(prepare).then(
    (code) => {
      process.exitCode = code;
    },
    (error: unknown) => {
      process.stderr.write(
        `error (internal): ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
      );
      process.exitCode = 1;
    },
  );
}

/** Fails a program that ends before its work has settled: Node ends it with 0 once nothing is left to wait for. */
function expectResult(): void {
  process.exitCode = UNSETTLED;
  process.once("exit", (code) => {
    if (code !== UNSETTLED) return;
    try {
      writeSync(
        2,
        "error (unsettled): the program ended before its work had, and nothing is known of the outcome.\n" +
          "  This is a defect: please report it, with the command line and what answered it.\n",
      );
    } catch {
      // Standard error is closed or full.
    }
  });
}

/** Keeps output that cannot be written from ending a deployment in the middle; losses are reported at the end. */
function outliveLostOutput(): void {
  let lost = 0;
  let reason = "";
  process.stderr.on("error", () => undefined);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // The reader has gone, or its terminal was closed: nobody misses the rest.
    if (error.code === "EPIPE" || error.code === "EIO") return;
    lost++;
    reason = error.message;
  });
  process.once("exit", (code) => {
    if (lost === 0) return;
    if (code === 0) process.exitCode = TRY_AGAIN;
    try {
      writeSync(
        2,
        `error (output_lost): ${lost} writes to standard output failed: ${reason}\n` +
          `  The work itself ended with exit code ${code}. Make room, or send the output elsewhere.\n`,
      );
    } catch {
      // Standard error is as full.
    }
  });
}

/** `node:http` for other people's code: with the names that `lightenHttp` hides from an import. */
const WHOLE_HTTP = `data:text/javascript,${encodeURIComponent(
  `import http from "node:http"; export * from "node:http"; export default http; ` +
    `export const { ${HEAVY.join(", ")} } = http;`,
)}`;

/**
 * Resolves imports between Sealift's built modules as URLs. Node would ask the file system for each one's real path and
 * nearest package.json: a seventh of a start. The single executable has hooks of its own.
 *
 * @param onForeign called before each module of other people is loaded
 */
function resolveOwnModules(onForeign?: () => void): void {
  const own = new URL("../", import.meta.url).href;
  if (!isBuilt() || isOneFile()) return;
  module.registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL = own, conditions } = context;
      if (parentURL.startsWith(own)) {
        if (specifier.startsWith("."))
          return { url: new URL(specifier, parentURL).href, format: "module", shortCircuit: true };
      } else if (/^(?:node:)?http$/.test(specifier) && conditions.includes("import") && !parentURL.startsWith("data:"))
        return { url: WHOLE_HTTP, format: "module", shortCircuit: true };
      const resolved = next(specifier, context);
      if (resolved.url.startsWith("file:") && !resolved.url.startsWith(own)) onForeign?.();
      return resolved;
    },
  });
}

/**
 * Lets Node keep the code that it compiles in this user's own cache folder: in Node's default one in /tmp, another user
 * could plant code. The package contains none, since it would run in place of the source that people read.
 */
function useCompiledCode(): void {
  const folder = codeFolder();
  if (folder !== undefined) module.enableCompileCache(folder);
}

/**
 * Does the same for a program that loads plugins, whose code must not be kept. Node cannot stop keeping code, so it is
 * given a link to the folder. @returns a function that removes the link
 */
function useCompiledCodeUntil(): () => void {
  const folder = codeFolder() ?? "";
  const link = `${folder}-${process.pid}-${Date.now().toString(36)}`;
  const end = (): void => {
    if (!existsSync(link)) return;
    module.flushCompileCache();
    rmSync(link, { force: true });
  };
  if (folder === "") return end;
  try {
    symlinkSync(folder, link);
    module.enableCompileCache(link);
    process.once("exit", end);
  } catch {
    // Nothing can be written there.
  }
  return end;
}

/** Returns the folder of compiled code; none where no home exists that only this user can write. */
function codeFolder(): string | undefined {
  try {
    // Throws for a user unknown to the system, as in containers, where HOME is not set either.
    const base = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
    const own = join(base, "sealift");
    const folders = [base, own, join(own, `${process.version}-${process.arch}`)];
    // One by one: Node's recursive mkdir never ends below /proc.
    for (const folder of folders) if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    return folders.every(isOurs) ? folders.at(-1) : undefined;
  } catch {
    return undefined;
  }
}

/** True for a folder that only this user can write. */
function isOurs(folder: string): boolean {
  const stats = lstatSync(folder);
  return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0;
}

/**
 * Keeps the first ES import of `node:http` from loading Node's WebSocket client: the import reads every enumerable
 * export, and these three load undici, 50 ms of processor time that no command needs. They stay in place for code that
 * asks the module for them; imports of plugins get them from `WHOLE_HTTP`.
 */
export function lightenHttp(): void {
  const http = process.getBuiltinModule("node:http") as object;
  for (const name of HEAVY) {
    const property = Object.getOwnPropertyDescriptor(http, name);
    if (property !== undefined && property.configurable === true)
      Object.defineProperty(http, name, Object.assign({}, property, { enumerable: false }));
  }
}

/**
 * Ends this program when its launcher is gone, which a service manager takes for the service and restarts. Children
 * find a parent of another pid, and do nothing.
 */
function endWithLauncher(): void {
  const launcher = process.ppid;
  if (process.env[LAUNCHER] !== String(launcher)) return;
  const timer = setInterval(() => {
    if (process.ppid === launcher) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
    setTimeout(() => process.exit(1), LAST_WORK_MS).unref();
  }, LAUNCHER_CHECK_MS);
  timer.unref();
}

async function runWithPinnedNode(): Promise<void> {
  const pinned = pinnedNode();
  if (pinned === undefined) {
    process.stderr.write(
      `Sealift needs Node.js ${REQUIRED.major}.${REQUIRED.minor} or newer; this is ${process.version}.\n`,
    );
    process.exitCode = USAGE;
    return;
  }
  const { spawn } = await import("node:child_process");
  const child = spawn(pinned, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: "inherit",
    env: { ...process.env, [LAUNCHER]: String(process.pid) },
  });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`The pinned Node.js could not be started: ${error.message}\n`);
    process.exitCode = USAGE;
  });
  child.on("exit", (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    for (const name of FORWARDED) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}

function pinnedNode(): string | undefined {
  try {
    const folder = dirname(module.createRequire(import.meta.url).resolve("node/package.json"));
    const program = join(folder, "bin", process.platform === "win32" ? "node.exe" : "node");
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}
