import type { Key } from "ink";

/** One press of a key: the character that it types, and its name when it has one. */
export interface KeyPress {
  input: string;
  key: Partial<Key>;
}

/** A report of the mouse, as terminals send it in SGR mode. Columns and rows count from 0. */
export interface Click {
  button: "left" | "wheel up" | "wheel down";
  column: number;
  row: number;
}

const NAMED: Readonly<Record<string, Partial<Key>>> = {
  "\r": { return: true },
  "\n": { return: true },
  "\t": { tab: true },
  "\u001b": { escape: true },
  "\u007f": { backspace: true },
  "\b": { backspace: true },
};

/** Starts what a terminal sends for the mouse, without its Escape. */
const MOUSE = /^\[<(\d+);(\d+);(\d+)([Mm])$/;

const BUTTONS: Readonly<Record<string, Click["button"]>> = { 0: "left", 64: "wheel up", 65: "wheel down" };

/** Returns the click that an input stands for; `undefined` for keys, and for reports that nobody listens to. */
export function clickOf(input: string): Click | undefined {
  const [, code = "", column, row, action] = MOUSE.exec(input) ?? [];
  const button = BUTTONS[code];
  return button === undefined || action !== "M"
    ? undefined
    : { button, column: Number(column) - 1, row: Number(row) - 1 };
}

/** True for a report of the mouse, also for one that means nothing. */
export const isMouse = (input: string): boolean => MOUSE.test(input);

/**
 * Splits what came in one read into single presses. A paste, a macro and a slow connection deliver several characters
 * at once; escape sequences (arrows, the mouse) come one by one and stay whole.
 */
export function keyPresses(input: string, key: Partial<Key>): KeyPress[] {
  const characters = [...input];
  if (characters.length <= 1 || isMouse(input) || key.ctrl || key.meta) return [{ input, key }];
  return characters.map((character) => {
    const named = NAMED[character];
    return named === undefined ? { input: character, key: {} } : { input: "", key: named };
  });
}
