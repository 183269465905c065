import { posix } from "node:path";

/** In a release: the files of its source tree that no step installed. */
export const REST_FOLDER = "rest";
const REST = `${REST_FOLDER}/`;
const SHIPPED = "shipped-data/";

/** A folder of a release, and the one of the source tree that its files came from. Both end with `/`, or are empty. */
interface Origin {
  place: string;
  source: string;
}

const OWN_FOLDER = 0;
const REST_OF_TREE = 1;

/** Which files of a source tree are where in its release. It is asked for each of many files, and splits no path. */
export class SourceFolders {
  readonly #origins: Origin[] = [
    { place: "", source: "" },
    { place: REST, source: "" },
  ];
  readonly #byPlace = new Map<string, number>();

  /** @param folders `<section>/<id>` → its folder in the source tree */
  constructor(folders: Readonly<Record<string, string>>) {
    for (const [item, folder] of Object.entries(folders)) {
      const source = posix.join(folder, "/").replace(/^\.\//, "");
      this.#add({ place: `${item}/`, source });
      this.#add({ place: `${SHIPPED}${item}/`, source: `${source}data/` });
    }
  }

  #add(origin: Origin): void {
    this.#byPlace.set(origin.place, this.#origins.push(origin) - 1);
  }

  /** Finds the folder that a file of a release is in. @returns a number for {@link pathIn} and {@link placeIn} */
  originOf(place: string): number {
    if (place.startsWith(REST)) return REST_OF_TREE;
    const from = place.startsWith(SHIPPED) ? SHIPPED.length : 0;
    // Behind the section, and behind the id in it.
    const end = place.indexOf("/", place.indexOf("/", from) + 1) + 1;
    return this.#byPlace.get(place.slice(0, end)) ?? OWN_FOLDER;
  }

  /** The path in the source tree that a file of a release would have come from. */
  pathOf(place: string): string {
    return this.pathIn(this.originOf(place), place);
  }

  /** Does what {@link pathOf} does, for a file whose origin is known. */
  pathIn(origin: number, place: string): string {
    const { place: from, source } = this.#origins[origin]!;
    return `${source}${place.slice(from.length)}`;
  }

  /** The path below the release's folder of a file of the source tree. */
  placeIn(origin: number, path: string): string {
    const { place, source } = this.#origins[origin]!;
    return `${place}${path.slice(source.length)}`;
  }
}
