import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Packages of a lock file by their places. */
type Locked = Record<string, { version?: string }>;

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

const lockedIn = (folder: string): Locked =>
  (JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as { packages: Locked }).packages;

/**
 * Copies `examples/web` with the packages of its lock file, from those that this repository has installed: what
 * `npm ci` does there, without a network.
 *
 * @throws Error for a package that the repository's lock file has in no or in another version
 */
export function copyWebExample(to: string): void {
  const example = join(REPOSITORY, "examples/web");
  for (const name of ["package.json", "package-lock.json", "server.js"]) cpSync(join(example, name), join(to, name));
  const installed = Object.entries(lockedIn(REPOSITORY));
  for (const [place, { version }] of Object.entries(lockedIn(example))) {
    if (place === "") continue;
    const name = place.slice(place.lastIndexOf("node_modules/"));
    const found = installed.find(([at, found]) => at.endsWith(name) && found.version === version);
    if (found === undefined) throw new Error(`${name} ${version} is not installed: lock it in both places alike.`);
    cpSync(join(REPOSITORY, found[0]), join(to, place), {
      recursive: true,
      // Packages of a package stand in the lock file themselves.
      filter: (path) => !path.slice(join(REPOSITORY, found[0]).length).includes("/node_modules"),
    });
  }
}
