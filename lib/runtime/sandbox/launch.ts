import { existsSync } from "node:fs";
import { IS_ONE_FILE, ownProcess } from "../../support/one-file.ts";
import type { PermissionModel } from "../base/instance.ts";
import { RuntimeFault } from "../guest/fault.ts";
import type { Enclosed, ProcessView, Program, Wall } from "../walls/wall.ts";
import { BOOTSTRAP, SHARED_READS } from "./guest-files.ts";
import type { MemoryShares } from "./memory-shares.ts";

/** Starts a sandbox's process, with the Node flags and the wall that confine it. */

/** Whether this Node denies the network under `--permission`; version 25 and newer do. */
const NETWORK_IS_DENIABLE = process.allowedNodeEnvironmentFlags.has("--allow-net");

/** Whether this Node denies the inspector under `--permission`; version 25 and newer do. */
const INSPECTOR_FLAGS = process.allowedNodeEnvironmentFlags.has("--allow-inspector") ? ["--allow-inspector"] : [];

const SCRATCH = "/tmp";

export interface Confinement {
  /** Real paths; the process starts in the first one. */
  reads: readonly string[];
  writes: readonly string[];
  wall: Wall | undefined;
  /** Whether the process waits until it is in its control group. */
  grouped: boolean;
  permissionModel: PermissionModel;
  network: ProcessView["network"];
  memory: MemoryShares;
  maxDiskMb: number;
  /** Size of its `/tmp` in megabytes; none without a wall that provides one. */
  scratchMb: number;
  inspect?: Inspect | undefined;
}

/** Address of Node's inspector. */
export interface Inspect {
  host: string;
  port: number;
}

/** Initial size of V8's young heap, in megabytes: enough to load a plugin of a few lines without a collection. */
const START_SEMI_SPACE_MB = 2;

/**
 * Shell that clears what a patched `spawn` may have put into the environment (test runners and tracing agents patch
 * it), forbids core dumps, which would write memory to disk, and limits file sizes to the disk limit. `exec` keeps the
 * process id. A grouped process first waits for the line that says it is in its control group.
 */
const SHELL = "/bin/sh";
const WAIT = "read -r line || exit 125; exec </dev/null; ";
const script = (maxDiskMb: number, before: string): string =>
  `${before}unset NODE_OPTIONS NODE_V8_COVERAGE NODE_EXTRA_CA_CERTS NODE_PATH; ulimit -c 0 || :; ulimit -f ${Math.ceil(maxDiskMb * 2048)} || :; exec "$0" "$@"`;

/**
 * Returns the program and arguments that start a sandbox.
 * @param networkIsDeniable whether this Node can deny a sandbox the network
 * @throws RuntimeFault `sandbox_unavailable`
 */
export function sandboxLaunch(confinement: Confinement, networkIsDeniable = NETWORK_IS_DENIABLE): Program | Enclosed {
  const { wall, reads, writes, network, maxDiskMb, grouped } = confinement;
  const scratchMb = scratchOf(confinement);
  const node = { file: process.execPath, arguments: nodeArguments(confinement, scratchMb, networkIsDeniable) };
  if (process.platform === "win32") return node;
  const program = wall
    ? wall.enclose(node, { reads: [...SHARED_READS, ...reads], writes, cwd: reads[0] ?? "/", network, scratchMb })
    : node;
  // A container of the single executable and libc has no shell; core dumps are left to its host.
  if (!existsSync(SHELL)) return program;
  const before = grouped ? WAIT : "";
  return {
    ...program,
    file: SHELL,
    arguments: ["-c", script(maxDiskMb, before), program.file, ...program.arguments],
  };
}

/**
 * Returns the scratch folder. None if something that the plugin reads lies below it: it could then write its own code.
 */
function scratchOf({ wall, reads, writes, scratchMb }: Confinement): number {
  const isTaken = [...SHARED_READS, ...reads, ...writes].some((path) => path.startsWith(`${SCRATCH}/`));
  return wall?.scratch !== true || isTaken ? 0 : scratchMb;
}

function nodeArguments(
  { reads, writes, network, wall, permissionModel, memory, inspect }: Confinement,
  scratchMb: number,
  networkIsDeniable: boolean,
): string[] {
  if (network === "none" && !networkIsDeniable && !wall) {
    throw new RuntimeFault(
      "sandbox_unavailable",
      `Node ${process.versions.node} cannot deny a sandbox the network: run the runtime on Node 25 or newer, install bubblewrap, or grant the plugin the network.`,
    );
  }
  for (const path of [...reads, ...writes]) {
    // Node reads a `*` in these flags as a wildcard.
    if (path.includes("*")) throw new RuntimeFault("sandbox_unavailable", `The path ${path} has a * in it.`);
  }
  const permissions = [
    permissionModel === "audited" ? "--permission-audit" : "--permission",
    ...[...SHARED_READS, ...reads].map((path) => `--allow-fs-read=${path}`),
    ...[...writes, ...(scratchMb > 0 ? [SCRATCH] : [])].flatMap((path) => [
      `--allow-fs-read=${path}`,
      `--allow-fs-write=${path}`,
    ]),
    ...(network !== "none" && networkIsDeniable ? ["--allow-net"] : []),
    // The files in the executable are Sealift's own code, and nothing of the host.
    ...(IS_ONE_FILE ? ["--allow-fs-vfs"] : []),
  ];
  const flags = [
    // Without the model an attack may use any means that Node has.
    ...(permissionModel === "absent" ? ["--experimental-ffi"] : permissions),
    ...(inspect ? [...INSPECTOR_FLAGS, `--inspect=${inspect.host}:${inspect.port}`] : []),
    `--max-old-space-size=${memory.oldSpaceMb}`,
    `--max-semi-space-size=${memory.semiSpaceMb}`,
    `--min-semi-space-size=${Math.min(START_SEMI_SPACE_MB, memory.semiSpaceMb)}`,
    "--disable-sigusr1",
    "--disable-warning=ExperimentalWarning",
    "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
    "--disable-warning=SecurityWarning",
  ];
  const { execArgv, script } = ownProcess(flags, BOOTSTRAP);
  return [...execArgv, script];
}
