import { existsSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { NETWORK_SOCKET } from "../guest/way-out.ts";
import { FAMILY, seccompFilter } from "./seccomp.ts";
import { type Enclosed, FILTER_FD, INFO_FD, type Program, type View, type Wall } from "./wall.ts";

/** Bubblewrap: namespaces of a process's own, made without any privilege. */

export interface BubblewrapOptions {
  /** Absolute path of `bwrap`. */
  file: string;
  version: string;
  /**
   * False where the kernel refuses a fresh `/proc` in a namespace, as it does when parts of the host's own are hidden
   * (a container, or a unit with ProtectKernelTunables=). The process has none then.
   */
  proc: boolean;
}

const DEVICES = ["null", "zero", "random", "urandom"];
/** Files that the C library reads to find a host by its name. */
const NAME_SERVICE = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"];
const NAME_LIBRARIES = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

const bind = (path: string, source = path): string[] => ["--ro-bind", source, path];
const bindIfThere = (path: string): string[] => (existsSync(path) ? bind(path, realpathSync(path)) : []);

/** The shared libraries of this Node.js, under the names by which the loader found them. */
function libraries(): string[] {
  const report = process.report as unknown as { excludeNetwork: boolean; getReport(): { sharedObjects: string[] } };
  const before = report.excludeNetwork;
  report.excludeNetwork = true;
  try {
    const { sharedObjects } = report.getReport();
    // Native addons of this process are no business of a sandbox.
    return sharedObjects.filter((path) => path.startsWith("/") && !path.endsWith(".node"));
  } finally {
    report.excludeNetwork = before;
  }
}

/** Native times are told in the host's zone, which V8 reads from this link. */
function timeZone(): string[] {
  try {
    return ["--symlink", readlinkSync("/etc/localtime"), "/etc/localtime"];
  } catch {
    return bindIfThere("/etc/localtime");
  }
}

/**
 * Returns a wall of bubblewrap. The process is alone in its namespaces of users, processes, mounts, network and IPC,
 * has no capability, and sees Node.js, four devices and what its view names.
 */
export function bubblewrap({ file, version, proc }: BubblewrapOptions): Wall {
  const shared = libraries();
  const base = [
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    // No process more than the plugin's own, whose id INFO_FD tells. A session of its own it has from its parent
    // already: with --new-session the runtime could not end the whole as one group.
    ...["--as-pid-1", "--die-with-parent", "--cap-drop", "ALL", "--info-fd", String(INFO_FD)],
    ...(proc ? ["--proc", "/proc"] : []),
    ...DEVICES.flatMap((name) => ["--dev-bind", `/dev/${name}`, `/dev/${name}`]),
    ...shared.flatMap((path) => bind(path, realpathSync(path))),
    ...bindIfThere("/etc/ld.so.cache"),
    ...timeZone(),
    ...["--dir", "/tmp"],
    ...bind(realpathSync(process.execPath)),
  ];
  const named = () => [
    ...NAME_SERVICE.flatMap(bindIfThere),
    ...shared
      .filter((path) => path.includes("/libc.so"))
      .flatMap((path) => NAME_LIBRARIES.flatMap((name) => bindIfThere(join(dirname(path), name)))),
  ];
  // Sockets of the host in the abstract name space are those of its network: a plugin that shares it opens none of that
  // kind.
  const filters = {
    none: seccompFilter([FAMILY.netlink]),
    names: seccompFilter([FAMILY.unix, FAMILY.inet, FAMILY.inet6, FAMILY.netlink]),
    all: seccompFilter([FAMILY.inet, FAMILY.inet6, FAMILY.netlink]),
  };
  return {
    name: `bubblewrap ${version}`,
    parts: [
      ...["namespaces", "a read-only view of its release", "no capabilities"],
      ...(filters.none === undefined ? [] : ["a filter of system calls"]),
      proc ? "a /proc of its own" : "no /proc",
    ],
    enclose(program: Program, { reads, writes, cwd, network }: View): Enclosed {
      const filter = typeof network === "object" ? filters.names : filters[network];
      return {
        file,
        arguments: [
          ...base,
          ...(network === "all" ? named() : ["--unshare-net"]),
          ...(typeof network === "object" ? ["--bind", network.socket, NETWORK_SOCKET] : []),
          ...reads.flatMap((path) => bind(path)),
          ...writes.flatMap((path) => ["--bind", path, path]),
          ...["--remount-ro", "/", "--chdir", cwd],
          ...(filter === undefined ? [] : ["--seccomp", String(FILTER_FD)]),
          ...["--", program.file, ...program.arguments],
        ],
        filter,
      };
    },
  };
}
