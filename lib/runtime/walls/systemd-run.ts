import { existsSync, realpathSync } from "node:fs";
import { RuntimeFault } from "../guest/fault.ts";
import { NETWORK_SOCKET } from "../guest/way-out.ts";
import { startOf } from "./control-group.ts";
import { DEVICES, LOADER_CACHE, nameService, nodeFile, sharedLibraries, TIME_ZONE } from "./host-files.ts";
import { REFUSED } from "./syscalls.ts";
import type { Enclosed, OwnWords, Program, View, Wall } from "./wall.ts";

/** Transient units: systemd starts each sandbox as a service of its own, and holds it. For a runtime that is root. */

/** Processes and threads of one sandbox; Node.js has about 15 threads. */
const MAX_TASKS = 128;

/** Properties that hold whatever the plugin is. */
const FIXED = [
  "NoNewPrivileges=yes",
  "CapabilityBoundingSet=",
  "RestrictNamespaces=yes",
  "RestrictSUIDSGID=yes",
  "RestrictRealtime=yes",
  "LockPersonality=yes",
  "KeyringMode=private",
  "PrivateIPC=yes",
  "DevicePolicy=closed",
  "SystemCallArchitectures=native",
  `SystemCallFilter=~${Object.keys(REFUSED).join(" ")}`,
  "SystemCallErrorNumber=EPERM",
  "LimitCORE=0",
  "MemorySwapMax=0",
  `TasksMax=${MAX_TASKS}`,
  // Nothing of the host is there but what is bound below.
  "TemporaryFileSystem=/:ro",
];

/** Quotes a path for a list in a unit. @throws RuntimeFault for one that cannot be written there */
function quoted(path: string): string {
  if (!/["\\\p{Cc}]/u.test(path)) return `"${path}"`;
  throw new RuntimeFault("sandbox_unavailable", `systemd's units cannot name the path ${JSON.stringify(path)}.`);
}

const bindRead = (path: string): string[] =>
  existsSync(path) ? [`BindReadOnlyPaths=${quoted(realpathSync(path))}:${quoted(path)}`] : [];
const bindWrite = (path: string, target = path): string => `BindPaths=${quoted(path)}:${quoted(target)}`;

/** The disk is named by a path on it. */
const boundIo = (megabytes: number) => (path: string) =>
  ["Read", "Write"].map((way) => `IO${way}BandwidthMax=${quoted(path)} ${megabytes}M`);

const FAMILIES = {
  none: "AF_NETLINK",
  names: "AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  all: "AF_INET AF_INET6 AF_NETLINK",
};

function networkOf(network: View["network"], libraries: readonly string[]): string[] {
  if (network === "all")
    return [`RestrictAddressFamilies=${FAMILIES.all}`, ...nameService(libraries).flatMap(bindRead)];
  if (network === "none")
    return [`RestrictAddressFamilies=${FAMILIES.none}`, "PrivateNetwork=yes", "IPAddressDeny=any"];
  // A network of its own has nothing but its loopback and this socket.
  return [`RestrictAddressFamilies=${FAMILIES.names}`, "PrivateNetwork=yes", bindWrite(network.socket, NETWORK_SOCKET)];
}

const START = /^Running as unit: /;
/** Begins the other lines of systemd-run about a unit that has ended, when it is not `--quiet`. */
const DETAIL = /^(Service runtime|CPU time consumed|Memory (swap )?peak|IP traffic|IO bytes)\b.*:/;
const RESULT = /Finished with result: ([\w-]+)$/;
const MAIN = /Main processes terminated with: code=(\w+)(?:\/|, )status=(?:\d+\/)?(\w+)$/;

/** Its exit code is 255 for every signal and 1 for a full memory; only its words tell them apart. */
function readOwn(line: string): OwnWords | undefined {
  const result = RESULT.exec(line);
  if (result)
    return { before: line.slice(0, result.index), says: result[1] === "oom-kill" ? "out of memory" : "unknown" };
  const main = MAIN.exec(line);
  if (main) {
    const [, how, signal] = main;
    const bySignal = how === "killed" || how === "dumped";
    return { before: line.slice(0, main.index), says: bySignal ? { signal: `SIG${signal}` } : "detail" };
  }
  if (START.test(line)) return { before: "", says: "start" };
  return DETAIL.test(line) ? { before: "", says: "detail" } : undefined;
}

/** @param file absolute path of `systemd-run` */
export function systemdRun({ file, version }: { file: string; version: string }): Wall {
  const libraries = sharedLibraries();
  const runtime = `sealift-sandbox-${process.pid}-${startOf(process.pid) ?? 0}`;
  let last = 0;
  const base = [
    ...FIXED,
    ...DEVICES.map((path) => bindWrite(path)),
    ...[...libraries, LOADER_CACHE, TIME_ZONE, nodeFile()].flatMap(bindRead),
  ];
  return {
    name: `systemd-run ${version}`,
    parts: [
      ...[
        "a transient unit",
        "a read-only view of its release",
        "no capabilities",
        "a filter of system calls",
        "no /proc",
      ],
      "bounds of memory, processor and processes",
    ],
    ownNetwork: true,
    scratch: true,
    enclose(program: Program, { reads, writes, cwd, network, user, limits }: View): Enclosed {
      const properties = [
        ...base,
        ...networkOf(network, libraries),
        ...reads.flatMap(bindRead),
        ...writes.map((path) => bindWrite(path)),
        `WorkingDirectory=${cwd}`,
        `MemoryMax=${limits.memoryMb}M`,
        `CPUQuota=${limits.cpuPercent}%`,
        `LimitFSIZE=${limits.diskMb}M`,
        ...(limits.scratchMb > 0 ? [`TemporaryFileSystem=/tmp:mode=1777,size=${limits.scratchMb}M`] : []),
        ...(limits.ioMbPerSecond === undefined ? [] : writes.slice(-1).flatMap(boundIo(limits.ioMbPerSecond))),
      ];
      return {
        file,
        arguments: [
          ...["--pipe", "--wait", "--collect", "--service-type=exec", `--unit=${runtime}-${++last}`],
          ...(user ? [`--uid=${user.uid}`, `--gid=${user.gid}`] : []),
          ...properties.map((property) => `--property=${property}`),
          ...["--", program.file, ...program.arguments],
        ],
        filter: undefined,
        process: "elsewhere",
        readOwn,
      };
    },
    // A unit ends with its process.
    [Symbol.dispose]: () => undefined,
  };
}
