import type { Ending, OwnWords } from "./wall.ts";

/** A program around a process says less than this many lines of its end. */
const MAX_HELD = 16;

/**
 * Tells the lines of a plugin from those of the program around it, which share one stream. The program speaks before
 * the plugin's first line and after all that the plugin wrote. So lines in its words are held until another follows,
 * and are the plugin's then; those that none follows are the program's.
 */
export class LastWords {
  readonly #read: (line: string) => OwnWords | undefined;
  readonly #onLine: (line: string) => void;
  #held: { line: string; words: OwnWords }[] = [];
  #hasBegun = false;

  /**
   * @param read returns the program's words in a line
   * @param onLine takes the plugin's lines
   */
  constructor(read: (line: string) => OwnWords | undefined, onLine: (line: string) => void) {
    this.#read = read;
    this.#onLine = onLine;
  }

  take(line: string): void {
    const words = this.#read(line);
    if (words?.says === "start" && !this.#hasBegun) return;
    this.#hasBegun = true;
    // The plugin's last line may lack its end: the program's first words are then on the same line, and no later ones.
    const follows = words !== undefined && words.says !== "start" && (this.#held.length === 0 || words.before === "");
    if (!follows) for (const { line: held } of this.#held.splice(0)) this.#onLine(held);
    if (words === undefined || words.says === "start") return this.#onLine(line);
    this.#held.push({ line, words });
    if (this.#held.length > MAX_HELD) this.#onLine(this.#held.shift()!.line);
  }

  /** The stream has ended. @returns the end as the program tells it, if it does */
  end(): Ending | undefined {
    let ending: Ending | undefined;
    const [first] = this.#held;
    if (first !== undefined && first.words.before !== "") this.#onLine(first.words.before);
    for (const { words } of this.#held.splice(0)) {
      // A process that the kernel ended for its memory ended by a signal as well.
      const isDetail = typeof words.says === "object" && ending === "out of memory";
      if (words.says !== "detail" && words.says !== "start" && !isDetail) ending = words.says;
    }
    return ending;
  }
}
