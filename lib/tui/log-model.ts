import { printable } from "../support/printable.ts";

/** Lines that are kept to look back at. */
const LINES_KEPT = 1000;
const TAB = "    ";

export interface ShownLine {
  /** The unit, where several write at once. */
  unit: string | null;
  text: string;
}

/** The last lines that a target's units have written. */
export class LogModel {
  /** Why nothing is read at the moment. */
  note: string | undefined;
  #lines: ShownLine[] = [];
  #held: readonly ShownLine[] | undefined;
  #again = false;

  push(unit: string | null, line: string): void {
    if (this.#again) this.#lines = [];
    this.#again = false;
    this.#lines.push({ unit, text: printable(line.replaceAll("\t", TAB)) });
    if (this.#lines.length > LINES_KEPT) this.#lines = this.#lines.slice(-LINES_KEPT * 0.9);
  }

  /** The log is read from its tail again: the next line takes the place of all that are there. */
  readAgain(): void {
    this.#again = true;
  }

  /**
   * Returns the lines.
   *
   * @param looksBack whether a person has scrolled away from the end; the lines then stay as they are
   */
  shown(looksBack: boolean): readonly ShownLine[] {
    if (!looksBack) this.#held = undefined;
    else this.#held ??= [...this.#lines];
    return this.#held ?? this.#lines;
  }
}
