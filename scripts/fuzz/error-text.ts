import { SealiftError } from "../../lib/contract/errors.ts";

/** Longest error of a foreign input, in characters: its faults are counted and shortened. */
const MAX_CHARACTERS = 10_000;

/**
 * Finds the fault of an error that a foreign input caused: it is a defect of the product, its text is endless, it
 * contains terminal controls, or it reveals a secret. Undefined for an error without one.
 */
export function faultOfError(error: unknown, secret?: string): string | undefined {
  if (!(error instanceof SealiftError)) return `it fails with ${String(error).slice(0, 300)}`;
  if (error.code === "internal") return `it is a defect: ${error.message.slice(0, 300)}`;
  const shown = [error.message, error.hint ?? "", error.hubCode ?? "", ...(error.faults ?? [])].join("\n");
  if (shown.length > 2 * MAX_CHARACTERS) return `its error has ${shown.length} characters`;
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(shown.replaceAll("\n", ""))) return "its error has control characters";
  if (secret !== undefined && shown.includes(secret)) return "its error tells a secret";
  return undefined;
}
