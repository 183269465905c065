import { posix } from "node:path";
import { dataFolderOf, type Item } from "./layout.ts";

/** Folder of a release for files of the source tree that no step installed. */
export const REST_FOLDER = "rest";
const REST = `${REST_FOLDER}/`;
const SHIPPED = "shipped-data/";

/** Folder of a release, and the source folder of its files. Both end with `/`, or are empty. */
export interface Origin {
  place: string;
  source: string;
}

const OWN_FOLDER: Origin = { place: "", source: "" };
const REST_OF_TREE: Origin = { place: REST, source: "" };

/** Maps files of a source tree to their places in its release. Called for many files, so it splits no path. */
export class SourceFolders {
  readonly #byPlace = new Map<string, Origin>();

  /**
   * @param folders `<section>/<id>` → its folder in the source tree
   * @param items those whose folder for data may have another name than `data`
   */
  constructor(folders: Readonly<Record<string, string>>, items: readonly Item[] = []) {
    const dataFolders = new Map(items.map((item) => [`${item.section}/${item.id}`, dataFolderOf(item)]));
    for (const [key, folder] of Object.entries(folders)) {
      const source = posix.join(folder, "/").replace(/^\.\//, "");
      const origins = [
        { place: `${key}/`, source },
        { place: `${SHIPPED}${key}/`, source: `${source}${dataFolders.get(key) ?? "data"}/` },
      ];
      for (const origin of origins) this.#byPlace.set(origin.place, origin);
    }
  }

  /** Finds the folder that a file of a release is in. */
  originOf(place: string): Origin {
    if (place.startsWith(REST)) return REST_OF_TREE;
    const from = place.startsWith(SHIPPED) ? SHIPPED.length : 0;
    // Index after `<section>/<id>/`.
    const end = place.indexOf("/", place.indexOf("/", from) + 1) + 1;
    return this.#byPlace.get(place.slice(0, end)) ?? OWN_FOLDER;
  }

  /** Returns the path in the source tree for a file of a release. */
  pathOf(place: string, { place: from, source } = this.originOf(place)): string {
    return `${source}${place.slice(from.length)}`;
  }

  /** Returns the path below the release's folder for a file of the source tree. */
  placeIn({ place, source }: Origin, path: string): string {
    return `${place}${path.slice(source.length)}`;
  }
}
