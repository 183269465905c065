import { usageError } from "../errors.ts";

/**
 * Encodes a name as one segment of a path. No encoding protects `.` and `..`, which readers of URLs resolve: a request
 * would reach another route.
 *
 * @throws UsageError `usage` for these two
 */
export function segment(name: string): string {
  if (name === "." || name === "..")
    throw usageError("usage", `${JSON.stringify(name)} is not a name that a hub or runtime can be asked for.`);
  return encodeURIComponent(name);
}
