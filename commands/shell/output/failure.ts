import { SealiftError } from "../../../lib/contract/errors.ts";
import { printableLines, withoutPasswords } from "../../../lib/support/printable.ts";

/** The errors of commands, as people and programs get them. */

/** Returns the result event of a command that failed. */
export const failedResult = (error: SealiftError, result: Record<string, unknown> = {}) => ({
  ...{ v: 1, event: "result", status: "failed", ...result },
  ...{ exit_code: error.exitCode, error: error.toJSON() },
});

/**
 * Formats an error for people: what happened, what to do; a defect with its location.
 *
 * @param verbose adds the errors that caused it
 */
export function describeError(error: SealiftError, verbose = false): string {
  const lines = [`error (${error.code}): ${error.message}`];
  if (error.hint !== undefined) lines.push(`  ${error.hint}`);
  if (verbose) lines.push(...causesOf(error).map((cause) => `  cause: ${cause}`));
  if (error.code === "internal" && error.cause instanceof Error && error.cause.stack !== undefined)
    lines.push(error.cause.stack);
  return `${printableLines(lines.join("\n"))}\n`;
}

/** Returns the chain of causes, without the queries of URLs, which may be credentials. */
function causesOf(error: Error): string[] {
  const found: string[] = [];
  for (let cause = error.cause; cause instanceof Error && found.length < 10; cause = cause.cause) {
    const { name, message, code } = cause as NodeJS.ErrnoException;
    found.push(withoutPasswords(`${code ?? name}: ${message}`).replaceAll(/\?[^\s"')]+/g, "?…"));
  }
  return [...new Set(found)];
}

/** Returns an error with one more hint. */
export const withHint = (error: SealiftError, more: string): SealiftError =>
  new SealiftError(error.kind, error.code, error.message, {
    ...error,
    hint: [error.hint, more].filter((hint) => hint !== undefined).join(" "),
    cause: error.cause,
  });
