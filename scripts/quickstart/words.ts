/** Output of the quickstart, with colour only where it is supported. */
const coloured = process.stdout.isTTY && process.env.NO_COLOR === undefined;
const bold = (text: string): string => (coloured ? `\u001b[1m${text}\u001b[22m` : text);
const dim = (text: string): string => (coloured ? `\u001b[2m${text}\u001b[22m` : text);

export function heading(title: string, what: string): void {
  process.stdout.write(`\n${bold(title)} ${dim(`— ${what}`)}\n`);
}

export function say(text: string): void {
  process.stdout.write(`  ${text}\n`);
}

export function summary(lines: readonly string[]): void {
  process.stdout.write(`\n${bold("Done.")}\n${lines.map((line) => `  ${line}\n`).join("")}`);
}

/** Prints the next steps: each place, and what is there. */
export function next(places: readonly (readonly [place: string, what: string])[]): void {
  const width = Math.max(...places.map(([place]) => place.length));
  const lines = places.map(([place, what]) => `  ${place.padEnd(width)}  ${dim(what)}\n`);
  process.stdout.write(`\n${bold("Next")}\n${lines.join("")}`);
}
