/** Quotes a word so that a shell takes it literally. */
export const shellWord = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Returns statements of a shell that set and export variables where they are not set. Names are those of a shell. */
export const shellDefaults = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `[ -n "\${${name}+x}" ] || ${name}=${shellWord(value)}; export ${name}\n`)
    .join("");
