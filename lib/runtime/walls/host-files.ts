import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** Files of the host that a Node.js process reads, whatever it runs. */

/** Files that the C library reads to resolve host names. */
const NAME_SERVICE = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"];
const NAME_LIBRARIES = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

export const DEVICES = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"] as const;
export const LOADER_CACHE = "/etc/ld.so.cache";
/** Link from which V8 reads the host's time zone. */
export const TIME_ZONE = "/etc/localtime";

/** Returns the shared libraries of this Node.js, under the names by which the loader found them. */
export function sharedLibraries(): string[] {
  const report = process.report as unknown as {
    excludeNetwork: boolean;
    getReport(error: { stack: string }): { sharedObjects: string[] };
  };
  const before = report.excludeNetwork;
  report.excludeNetwork = true;
  try {
    // Its own stack would be mapped to the sources: reading their map takes nine tenths of the report's time.
    const { sharedObjects } = report.getReport({ stack: "" });
    // A sandbox starts a plain Node.js, which loads none of the native addons of this process.
    return sharedObjects.filter((path) => path.startsWith("/") && !path.endsWith(".node"));
  } finally {
    report.excludeNetwork = before;
  }
}

/** Returns the files that name lookups read. They can appear and disappear, so each start looks again. */
export function nameService(libraries: readonly string[]): string[] {
  const libc = libraries.filter((path) => path.includes("/libc.so"));
  const beside = libc.flatMap((path) => NAME_LIBRARIES.map((name) => join(dirname(path), name)));
  return [...NAME_SERVICE, ...beside].filter((path) => existsSync(path));
}

/** Returns this Node.js, without links. */
export const nodeFile = (): string => realpathSync(process.execPath);
