/**
 * Ends the program that imports it at moments of its own choice: as soon as it prints a line with a text. The file that
 * `SEALIFT_TEST_KILL_AT` names lists them as JSON; each counts once, in turn, also for the program that comes next.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** Moment at which a program is ended. */
export interface Moment {
  /** Part of the line that it prints. */
  text: string;
  signal: NodeJS.Signals;
  /** Time after that line, in milliseconds. */
  afterMs?: number;
}

const file = process.env["SEALIFT_TEST_KILL_AT"];
if (file !== undefined) {
  const write = process.stdout.write.bind(process.stdout) as (...args: unknown[]) => boolean;
  process.stdout.write = (...args: unknown[]) => {
    const isTaken = write(...args);
    const [moment, ...others] = JSON.parse(readFileSync(file, "utf8")) as Moment[];
    if (moment !== undefined && String(args[0]).includes(moment.text)) {
      writeFileSync(`${file}.new`, JSON.stringify(others));
      renameSync(`${file}.new`, file);
      const end = (): boolean => process.kill(process.pid, moment.signal);
      if (moment.afterMs === undefined) end();
      else setTimeout(end, moment.afterMs);
    }
    return isTaken;
  };
}
