import { posix } from "node:path";

/** Folder of a release for files of the source tree that no step installed. */
export const REST_FOLDER = "rest";
const REST = `${REST_FOLDER}/`;
const SHIPPED = "shipped-data/";

/** A folder of a release, and the one of the source tree that its files came from. Both end with `/`, or are empty. */
export interface Origin {
  place: string;
  source: string;
}

const OWN_FOLDER: Origin = { place: "", source: "" };
const REST_OF_TREE: Origin = { place: REST, source: "" };

/** Finds where files of a source tree lie in its release. Called for each of many files, so it splits no path. */
export class SourceFolders {
  readonly #byPlace = new Map<string, Origin>();

  /** @param folders `<section>/<id>` → its folder in the source tree */
  constructor(folders: Readonly<Record<string, string>>) {
    for (const [item, folder] of Object.entries(folders)) {
      const source = posix.join(folder, "/").replace(/^\.\//, "");
      const origins = [
        { place: `${item}/`, source },
        { place: `${SHIPPED}${item}/`, source: `${source}data/` },
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

  /** The path in the source tree that a file of a release would have come from. */
  pathOf(place: string, { place: from, source } = this.originOf(place)): string {
    return `${source}${place.slice(from.length)}`;
  }

  /** The path below the release's folder of a file of the source tree. */
  placeIn({ place, source }: Origin, path: string): string {
    return `${place}${path.slice(source.length)}`;
  }
}
