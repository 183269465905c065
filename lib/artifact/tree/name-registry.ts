import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { quoted } from "./safe-path.ts";

const ASCII = /^[\u0000-\u007f]*$/;

/** Returns one key for all names that case-folding, normalizing file systems take for the same. */
const fold = (path: string): string =>
  ASCII.test(path) ? path.toLowerCase() : path.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");

/** `implied` is a folder that only its children name. */
type Kind = "implied" | "folder" | "file";

/**
 * Remembers every path of one archive and rejects any that would overwrite another member: duplicates, names equal but
 * for case or Unicode normalization, a file where a folder must be.
 */
export class NameRegistry {
  /** Kinds by folded name. V8 seeds string hashes, so names cannot be made to collide. */
  readonly #kinds = new Map<string, Kind>();
  /** Names as spelled, by their folded form, where they differ. */
  readonly #spelled = new Map<string, string>();
  /** Folders with contents, as spelled, including all their ancestors. */
  readonly #parents = new Set<string>([""]);

  /**
   * @param path as returned by `safe-path.ts`
   * @throws ArtifactError `member_duplicate`
   */
  add(path: string, kind: "file" | "folder"): void {
    this.#addParents(path);
    if (path !== "") this.#claim(path, kind);
  }

  #addParents(path: string): void {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    if (this.#parents.has(parent)) return;
    this.#addParents(parent);
    this.#claim(parent, "implied");
    this.#parents.add(parent);
  }

  #claim(path: string, kind: Kind): void {
    const folded = fold(path);
    const earlier = this.#kinds.get(folded);
    if (earlier === undefined) {
      this.#kinds.set(folded, kind);
      if (folded !== path) this.#spelled.set(folded, path);
      return;
    }
    const spelled = this.#spelled.get(folded) ?? folded;
    if (spelled !== path) {
      throw duplicate(
        `The members ${quoted(spelled)} and ${quoted(path)} have names that some file systems hold equal.`,
      );
    }
    if (kind === "implied") {
      if (earlier === "file") throw duplicate(`The member ${quoted(path)} is a file and a folder at once.`);
    } else if (earlier === "implied" && kind === "folder") this.#kinds.set(folded, "folder");
    else throw duplicate(`The archive has the member ${quoted(path)} twice, or as a file and a folder.`);
  }
}

const duplicate = (message: string): SealiftError =>
  artifactError("member_duplicate", message, {
    hint: "Do not install this archive; ask its publisher for one with distinct names.",
  });
