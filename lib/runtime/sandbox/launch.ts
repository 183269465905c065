import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RuntimeFault } from "../guest/fault.ts";
import { OWN_EXTENSION, ZOD_FOLDER } from "../guest/sdk-resolution.ts";

/** How a sandbox's process is started: which Node flags shut it in. */

const guestFolder = realpathSync(fileURLToPath(new URL("../guest", import.meta.url)));
const sdkFolder = realpathSync(fileURLToPath(new URL("../../sdk", import.meta.url)));

export const BOOTSTRAP = `${guestFolder}/bootstrap${OWN_EXTENSION}`;

/** What every sandbox reads besides its plugin. */
export const SHARED_READS: readonly string[] = [guestFolder, sdkFolder, realpathSync(ZOD_FOLDER)];

/** Node ≥ 25 denies the network under `--permission`; 24 knows no such rule. */
const NETWORK_IS_DENIABLE = process.allowedNodeEnvironmentFlags.has("--allow-net");

/** Node ≥ 25 denies the inspector under `--permission`. */
const INSPECTOR_FLAGS = process.allowedNodeEnvironmentFlags.has("--allow-inspector") ? ["--allow-inspector"] : [];

export interface Confinement {
  /** Real paths. */
  reads: readonly string[];
  writes: readonly string[];
  network: boolean;
  maxMemoryMb: number;
  maxDiskMb: number;
  inspect?: Inspect | undefined;
}

/** Where Node's inspector listens. */
export interface Inspect {
  host: string;
  port: number;
}

/**
 * Takes away what whoever patches `spawn` may have put into the environment (test runners and tracing agents do), forbids core
 * dumps, which would write memory to disk, and has the kernel refuse files larger than the disk limit. `exec` keeps the process id.
 */
const SHELL = "/bin/sh";
const script = (maxDiskMb: number): string =>
  `unset NODE_OPTIONS NODE_V8_COVERAGE NODE_EXTRA_CA_CERTS NODE_PATH; ulimit -c 0 || :; ulimit -f ${Math.ceil(maxDiskMb * 2048)} || :; exec "$0" "$@"`;

export interface Launch {
  file: string;
  arguments: string[];
}

/**
 * The program and arguments that start a sandbox.
 * @param networkIsDeniable whether this Node can deny a sandbox the network
 * @throws RuntimeFault `sandbox_unavailable`
 */
export function sandboxLaunch(confinement: Confinement, networkIsDeniable = NETWORK_IS_DENIABLE): Launch {
  const forNode = nodeArguments(confinement, networkIsDeniable);
  if (process.platform === "win32") return { file: process.execPath, arguments: forNode };
  return { file: SHELL, arguments: ["-c", script(confinement.maxDiskMb), process.execPath, ...forNode] };
}

function nodeArguments(
  { reads, writes, network, maxMemoryMb, inspect }: Confinement,
  networkIsDeniable: boolean,
): string[] {
  if (!network && !networkIsDeniable) {
    throw new RuntimeFault(
      "sandbox_unavailable",
      `Node ${process.versions.node} cannot deny a sandbox the network: run the runtime on Node 25 or newer, or grant the plugin the network.`,
    );
  }
  for (const path of [...reads, ...writes]) {
    // Node reads a `*` in these flags as a wildcard.
    if (path.includes("*")) throw new RuntimeFault("sandbox_unavailable", `The path ${path} has a * in it.`);
  }
  return [
    "--permission",
    ...[...SHARED_READS, ...reads].map((path) => `--allow-fs-read=${path}`),
    ...writes.flatMap((path) => [`--allow-fs-read=${path}`, `--allow-fs-write=${path}`]),
    ...(network && networkIsDeniable ? ["--allow-net"] : []),
    ...(inspect ? [...INSPECTOR_FLAGS, `--inspect=${inspect.host}:${inspect.port}`] : []),
    `--max-old-space-size=${maxMemoryMb}`,
    "--disable-sigusr1",
    "--disable-warning=ExperimentalWarning",
    "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
    "--disable-warning=SecurityWarning",
    BOOTSTRAP,
  ];
}
