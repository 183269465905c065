/**
 * A join that is killed at its n-th change of a file. Arguments: the number (-1: never), and the words of the
 * command. Prints the number of changes at its end.
 */
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { Cli } from "clipanion";

const [dieAt, ...words] = process.argv.slice(2);
let count = 0;
function change(): void {
  if (count++ === Number(dieAt)) process.kill(process.pid, "SIGKILL");
}
const functions = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
for (const name of ["rename", "rm", "open", "mkdir", "chmod", "writeFile"]) {
  const real = functions[name]!;
  functions[name] = (...args: unknown[]) => {
    const isReading = name === "open" && (args[1] === "r" || args[1] === undefined || typeof args[1] === "number");
    if (isReading) return real(...args);
    change();
    // A file is there, and has no content.
    return name === "open" ? Promise.resolve(real(...args)).finally(change) : real(...args);
  };
}
syncBuiltinESMExports();

const { Join } = await import("../../../commands/joining/join.ts");
process.exitCode = await Cli.from([Join]).run(words);
process.stdout.write(`changes ${count}\n`);
