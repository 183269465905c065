/** Writes the documents that come from the contract: `docs/errors.md` from the table of codes. `--check` only compares. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CODES, EXIT } from "../lib/contract/codes.ts";

const EXIT_MEANINGS: Record<keyof typeof EXIT, string> = {
  done: "done",
  failed: "failed",
  usage: "usage: nothing was requested",
  rejected: "a key, token or credential was rejected",
  verification: "verification failed: bytes, archive, manifest or plan",
  refused: "the hub refused the publication",
  rolledBack: "the new release failed, the previous one is back",
  tryAgain: "try again: the hub or the network, not the input",
  interrupted: "interrupted by a signal",
};

function errorsPage(): string {
  const exits = Object.entries(EXIT).map(([name, code]) => `| ${code} | ${EXIT_MEANINGS[name as keyof typeof EXIT]} |`);
  const codes = Object.entries(CODES).map(([code, { exit, meaning }]) => `| \`${code}\` | ${exit} | ${meaning} |`);
  return [
    "# Errors and exit codes",
    "",
    "Made from `lib/contract/codes.ts` by `node scripts/docs.ts`. Codes and exit codes keep their meaning.",
    "",
    "| exit code | meaning |",
    "| --- | --- |",
    ...exits,
    "",
    "| code | exit code | meaning |",
    "| --- | --- | --- |",
    ...codes,
    "",
  ].join("\n");
}

const path = fileURLToPath(new URL("../docs/errors.md", import.meta.url));
const page = errorsPage();
if (!process.argv.includes("--check")) writeFileSync(path, page);
else if (readFileSync(path, "utf8") !== page) {
  console.error("docs/errors.md is not what lib/contract/codes.ts says: run node scripts/docs.ts");
  process.exitCode = 1;
}
