import { appendFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { readRotatedLog } from "../../../lib/support/rotated-log.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);
const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

t.test("the last lines of a log are read, from earlier files where the present one has too few", async (t) => {
  const path = join(temporaryFolder(t), "log");
  const last = async (lines: number): Promise<string[]> => {
    const found: string[] = [];
    await readRotatedLog({ path, files: 3 }, { lines, maxCharacters: 100, onLine: (line) => void found.push(line) });
    return found;
  };
  t.strictSame(await last(10), [], "no log yet");
  await writeFile(`${path}.3`, "of a file that is kept no more\n");
  await writeFile(`${path}.2`, text(numbers(1, 20_000)));
  await writeFile(`${path}.1`, text(numbers(20_001, 20_005)));
  await writeFile(path, `${text(numbers(20_006, 20_007))}without an end`);
  const all = [...numbers(1, 20_007), "without an end"];
  for (const lines of [0, 1, 2, 3, 4, 8, 9, 5_000, 20_008, 30_000])
    t.strictSame(await last(lines), lines === 0 ? [] : all.slice(-lines), `${lines} lines`);
  await writeFile(path, "");
  t.strictSame(await last(2), numbers(20_004, 20_005));
});

t.test("a log is followed through its renames, from before it exists", async (t) => {
  const path = join(temporaryFolder(t), "log");
  const found: string[] = [];
  const end = new AbortController();
  const arrived = new Map<string, () => void>();
  const onLine = (line: string): void => {
    found.push(line);
    arrived.get(line)?.();
  };
  const shown = (line: string) => new Promise<void>((resolve) => arrived.set(line, resolve));
  const { signal } = end;
  const read = readRotatedLog({ path, files: 2 }, { lines: 1, follow: true, maxCharacters: 100, onLine, signal });
  const add = async (line: string): Promise<void> => {
    const seen = shown(line);
    await appendFile(path, `${line}\n`);
    await seen;
  };
  await add("one");
  await add("two");
  await appendFile(path, "three\n");
  await rename(path, `${path}.1`);
  await appendFile(`${path}.1`, "late\n");
  await add("four");
  end.abort();
  await read;
  t.strictSame(found, ["one", "two", "three", "late", "four"]);
});
