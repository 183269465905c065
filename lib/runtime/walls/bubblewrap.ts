import { existsSync, readlinkSync, realpathSync } from "node:fs";
import { NETWORK_SOCKET } from "../guest/way-out.ts";
import { DEVICES, LOADER_CACHE, nameService, nodeFile, sharedLibraries, TIME_ZONE } from "./host-files.ts";
import { FAMILY, seccompFilter } from "./seccomp.ts";
import { type Enclosed, FILTER_FD, INFO_FD, type ProcessView, type Program, type Wall } from "./wall.ts";

/** Bubblewrap: namespaces of a process's own, made without any privilege. */

export interface BubblewrapOptions {
  /** Absolute path of `bwrap`. */
  file: string;
  version: string;
  /**
   * False where the kernel refuses a fresh `/proc` in a namespace, as it does when parts of the host's own are hidden
   * (a container, or a unit with ProtectKernelTunables=). Then the process has none.
   */
  proc: boolean;
}

const MEGABYTE = 1024 * 1024;

const bind = (path: string, source = path): string[] => ["--ro-bind", source, path];
const bindIfThere = (path: string): string[] => (existsSync(path) ? bind(path, realpathSync(path)) : []);

function timeZone(): string[] {
  try {
    return ["--symlink", readlinkSync(TIME_ZONE), TIME_ZONE];
  } catch {
    return bindIfThere(TIME_ZONE);
  }
}

/**
 * Returns a wall of bubblewrap. The process is alone in its namespaces of users, processes, mounts and network, has no
 * capability, and sees Node.js, four devices and the paths of its view.
 */
export function bubblewrap({ file, version, proc }: BubblewrapOptions): Wall {
  const shared = sharedLibraries();
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const hasSize = major > 0 || minor >= 7;
  // Sockets of the host in the abstract name space are those of its network: a plugin that shares it opens none of that
  // kind.
  const families = {
    none: [FAMILY.netlink],
    names: [FAMILY.unix, FAMILY.inet, FAMILY.inet6, FAMILY.netlink],
    all: [FAMILY.inet, FAMILY.inet6, FAMILY.netlink],
  };
  const filters = new Map<keyof typeof families, Buffer | undefined>();
  const filterOf = (network: keyof typeof families): Buffer | undefined => {
    if (!filters.has(network)) filters.set(network, seccompFilter({ families: families[network] }));
    return filters.get(network);
  };
  const isFiltered = filterOf("none") !== undefined;
  const base = [
    ...["--unshare-user", "--unshare-pid"],
    // The filter refuses what these would keep apart: fewer namespaces are less of the kernel to reach.
    ...(isFiltered ? [] : ["--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]),
    // No process more than the plugin's own, whose id INFO_FD tells. A session of its own it has from its parent
    // already: with --new-session the runtime could not end the whole as one group.
    ...["--as-pid-1", "--die-with-parent", "--cap-drop", "ALL", "--info-fd", String(INFO_FD)],
    ...(proc ? ["--proc", "/proc"] : []),
    ...DEVICES.flatMap((path) => ["--dev-bind", path, path]),
    ...bindIfThere(LOADER_CACHE),
    ...timeZone(),
  ];
  const node = [...shared.flatMap((path) => bind(path, realpathSync(path))), ...bind(nodeFile())];
  return {
    name: `bubblewrap ${version}`,
    parts: [
      ...["namespaces", "a read-only view of its release", "no capabilities"],
      ...(isFiltered ? ["a filter of system calls"] : []),
      proc ? "a /proc of its own" : "no /proc",
      ...(hasSize ? ["a /tmp of its own"] : []),
    ],
    ownNetwork: true,
    scratch: hasSize,
    enclose(program: Program, { reads, writes, cwd, network, scratchMb }: ProcessView): Enclosed {
      const filter = filterOf(typeof network === "object" ? "names" : network);
      return {
        file,
        arguments: [
          ...base,
          ...(network === "all" ? nameService(shared).flatMap(bindIfThere) : ["--unshare-net"]),
          ...(typeof network === "object" ? ["--bind", network.socket, NETWORK_SOCKET] : []),
          // A tmpfs, which ends with the process. Mounted before the paths that may lie below it.
          ...(hasSize && scratchMb > 0
            ? ["--perms", "0700", "--size", String(scratchMb * MEGABYTE), "--tmpfs", "/tmp"]
            : ["--dir", "/tmp"]),
          ...node,
          ...reads.flatMap((path) => bind(path)),
          ...writes.flatMap((path) => ["--bind", path, path]),
          ...["--remount-ro", "/", "--chdir", cwd],
          ...(filter === undefined ? [] : ["--seccomp", String(FILTER_FD)]),
          ...["--", program.file, ...program.arguments],
        ],
        filter,
        process: "child",
      };
    },
    // It holds nothing open.
    [Symbol.dispose]: () => undefined,
  };
}
