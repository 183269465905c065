import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { NameTable } from "./name-table.ts";
import { quoted } from "./safe-path.ts";

const ASCII = /^[\u0000-\u007f]*$/;

/** Returns one key for all names that case-folding, normalising file systems take for the same. */
const fold = (path: string): string =>
  ASCII.test(path) ? path.toLowerCase() : path.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");

/** A folder that only its children name. */
const IMPLIED = 0;
const FOLDER = 1;
const FILE = 2;
type Kind = typeof IMPLIED | typeof FOLDER | typeof FILE;

/**
 * Remembers every path of one archive and refuses what would land on another member: duplicates, names equal but for
 * case or Unicode normalisation, a file where a folder must be.
 */
export class NameRegistry implements Disposable {
  readonly #seen: NameTable;
  /** Names that are in no list of the caller's: the number of the first is -1. */
  readonly #own: string[] = [];

  /** Folders that something lies in, as spelled: all of theirs above are here, too. */
  readonly #parents = new Set<string>([""]);

  /**
   * @param memberAt gives the path of a member by its number in a list of the caller's
   * @param expected members; there may be more
   */
  constructor(memberAt: (member: number) => string, expected?: number) {
    const nameOf = (entry: number): string => (entry < 0 ? this.#own[-1 - entry]! : memberAt(entry));
    this.#seen = new NameTable(nameOf, fold, expected);
  }

  /** Frees its memory; it is of no use any more. */
  [Symbol.dispose](): void {
    this.#seen[Symbol.dispose]();
  }

  /**
   * @param path as `safe-path.ts` gives it
   * @param member the number that it gets in the caller's list, if it comes there
   * @throws ArtifactError `member_duplicate`
   */
  add(path: string, type: "file" | "folder", member?: number): void {
    this.#addParents(path);
    if (path !== "") this.#claim(path, type === "file" ? FILE : FOLDER, member);
  }

  #addParents(path: string): void {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    if (this.#parents.has(parent)) return;
    this.#addParents(parent);
    this.#claim(parent, IMPLIED);
    this.#parents.add(parent);
  }

  #claim(path: string, kind: Kind, member?: number): void {
    const seen = this.#seen;
    const { index, isNew } = seen.add(path, member ?? -1 - this.#own.length, kind);
    if (isNew) {
      if (member === undefined) this.#own.push(path);
      return;
    }
    const spelled = seen.nameAt(index);
    const earlier = seen.kindAt(index) as Kind;
    if (spelled !== path) {
      throw duplicate(
        `The members ${quoted(spelled)} and ${quoted(path)} have names that some file systems hold equal.`,
      );
    }
    if (kind === IMPLIED) {
      if (earlier === FILE) throw duplicate(`The member ${quoted(path)} is a file and a folder at once.`);
    } else if (earlier === IMPLIED && kind === FOLDER) seen.setKind(index, FOLDER);
    else throw duplicate(`The archive has the member ${quoted(path)} twice, or as a file and a folder.`);
  }
}

const duplicate = (message: string): SealiftError =>
  artifactError("member_duplicate", message, {
    hint: "Do not install this archive; ask its publisher for one with distinct names.",
  });
