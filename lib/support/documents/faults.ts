import type * as z from "zod";
import { printable } from "../printable.ts";

/**
 * Faults that are told of one document, and characters of each: nobody reads more, and a foreign document may have
 * any number.
 */
const MAX_FAULTS = 20;
const MAX_FAULT_CHARACTERS = 300;

/** Describes the first faults of a document, cut, with a last line that counts the others. */
export function cutFaults<T>(faults: readonly T[], describe: (fault: T) => string): string[] {
  const told = faults.slice(0, MAX_FAULTS).map((fault) => {
    const text = printable(describe(fault)).trim();
    return text.length > MAX_FAULT_CHARACTERS ? `${text.slice(0, MAX_FAULT_CHARACTERS)}…` : text;
  });
  if (faults.length > MAX_FAULTS) told.push(`and ${faults.length - MAX_FAULTS} more`);
  return told;
}

/** The place of a value in a document. */
export type Path = readonly PropertyKey[];

/**
 * The faults of a zod error as `path: message`, cut. @param lineOf returns what follows a fault: its line, where
 * it is known
 */
export function faultsOf(error: z.ZodError, lineOf: (path: Path) => string = () => ""): string[] {
  return cutFaults(error.issues, (issue) => {
    const path = issue.path.map(String).join(".");
    return (path === "" ? issue.message : `${path}: ${issue.message}`) + lineOf(placeOf(issue));
  });
}

/** Returns where an issue is: at the first key that should not be there, or at its path. */
const placeOf = (issue: z.ZodError["issues"][number]): Path =>
  issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]!] : issue.path;
