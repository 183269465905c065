import { posix } from "node:path";
import { type InstalledPackage, MODULES } from "./installed-packages.ts";

/**
 * Meaning of a folder for packages: `way` holds packages and nothing else that is packed, `none` no package,
 * `package` is one that is packed whole, `link` a link to a folder of the author's own.
 */
export type Place = "way" | "none" | "package" | "link";

/** True for `node_modules`, and for a folder of scoped packages in it. */
const holdsPackages = (path: string): boolean => /(?:^|\/)node_modules(?:\/@[^/]*)?$/.test(path);

/** Folders of packages in a source tree, by their paths from its root. */
export class PackageTree {
  readonly #places = new Map<string, Place>();

  /** @param folder of the tree that needs the packages; empty for its root */
  add(folder: string, packages: readonly InstalledPackage[]): void {
    this.#lead(posix.join(folder, MODULES), "none");
    for (const { path, isLink } of packages) {
      const place = posix.join(folder, path);
      this.#places.set(place, isLink ? "link" : "package");
      for (let above = posix.dirname(place); holdsPackages(above); above = posix.dirname(above))
        this.#lead(above, "way");
    }
  }

  #lead(path: string, place: "way" | "none"): void {
    if (this.#places.get(path) !== "way") this.#places.set(path, place);
  }

  at(path: string): Place | undefined {
    return this.#places.get(path);
  }

  /** Tells whether packages of a folder are packed, or it was found to need none. */
  covers(folder: string): boolean {
    return this.#places.has(posix.join(folder, MODULES));
  }

  /** Returns the package that a file of the tree is in. */
  packageOf(path: string): string | undefined {
    for (let above = posix.dirname(path); above !== "."; above = posix.dirname(above))
      if (this.#places.get(above) === "package") return above;
    return undefined;
  }
}
