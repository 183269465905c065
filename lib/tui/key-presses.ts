import type { Key } from "ink";

/** Key press: the character that it types, and its name if it has one. */
export interface KeyPress {
  input: string;
  key: Partial<Key>;
}

const NAMED: Readonly<Record<string, Partial<Key>>> = {
  "\r": { return: true },
  "\n": { return: true },
  "\t": { tab: true },
  "\u001b": { escape: true },
  "\u007f": { backspace: true },
  "\b": { backspace: true },
};

/**
 * Splits the input of one read into single key presses. A macro and a slow connection deliver several characters
 * together; escape sequences, such as those of arrows, arrive one by one and stay whole.
 */
export function keyPresses(input: string, key: Partial<Key>): KeyPress[] {
  const characters = [...input];
  if (characters.length <= 1 || key.ctrl || key.meta) return [{ input, key }];
  return characters.map((character) => {
    const named = NAMED[character];
    return named === undefined ? { input: character, key: {} } : { input: "", key: named };
  });
}
