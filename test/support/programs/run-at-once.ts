/** Prints what `runAtOnce` makes of each form of `app run` in its argument: the exit code, or null. */
import { runAtOnce } from "../../../commands/apps/run-served.ts";

const forms = JSON.parse(process.argv[2]!) as { words: string[]; env: Record<string, string> }[];
const codes: (number | null)[] = [];
for (const { words, env } of forms) codes.push((await runAtOnce(words, env)) ?? null);
process.stdout.write(JSON.stringify(codes));
