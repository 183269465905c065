import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** Files of the host that a Node.js process reads, whatever it runs. */

/** Files that the C library reads to find a host by its name. */
const NAME_SERVICE = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"];
const NAME_LIBRARIES = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

export const DEVICES = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"] as const;
export const LOADER_CACHE = "/etc/ld.so.cache";
/** Native times are told in the host's zone, which V8 reads from this link. */
export const TIME_ZONE = "/etc/localtime";

/** Returns the shared libraries of this Node.js, under the names by which the loader found them. */
export function sharedLibraries(): string[] {
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

/** Returns what is read to find a host by its name. They may come and go, so each start looks again. */
export function nameService(libraries: readonly string[]): string[] {
  const libc = libraries.filter((path) => path.includes("/libc.so"));
  const beside = libc.flatMap((path) => NAME_LIBRARIES.map((name) => join(dirname(path), name)));
  return [...NAME_SERVICE, ...beside].filter((path) => existsSync(path));
}

/** Returns this Node.js, without links. */
export const nodeFile = (): string => realpathSync(process.execPath);
