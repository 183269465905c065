import { join } from "node:path";
import * as z from "zod";
import { artifactError, SealiftError } from "../../contract/errors.ts";
import { INTEGRATION_FILE } from "../../contract/files/manifest.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { readTextFile, statsOf } from "../../support/files.ts";
import { printable } from "../../support/printable.ts";
import { parseForeignYaml } from "../../support/yaml-file.ts";

/** Comparison of what the `integration.yaml` that a project ships gives its plugins, for runtimes that run with it. */

const configured = z.looseObject({
  plugins: z
    .looseObject({ grants: z.unknown(), sandbox: z.unknown(), strict_trusted: z.unknown() })
    .partial()
    .default({}),
});

/** Returns a line for each value, by its path. */
function linesOf(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => linesOf(item, path));
  if (typeof value !== "object" || value === null)
    return value === undefined ? [] : [`${path}: ${JSON.stringify(value)}`];
  return Object.entries(value).flatMap(([key, inner]) => linesOf(inner, `${path}.${key}`));
}

interface Granted {
  grants: string[];
  /** Settings that hold the plugins. */
  holds: string[];
}

/** @returns undefined when it cannot be read */
async function grantedAt(folder: string): Promise<Granted | undefined> {
  const file = join(folder, INTEGRATION_FILE);
  const stats = await statsOf(file);
  if (stats === undefined) return { grants: [], holds: [] };
  if (!stats.isFile()) return undefined;
  try {
    const text = await readTextFile(file, YAML_LIMITS.maxBytes);
    const fail = (message: string): SealiftError => artifactError("descriptor_invalid", message);
    const { grants, sandbox, strict_trusted } = (await parseForeignYaml(text, configured, file, fail)).plugins;
    return {
      grants: linesOf(grants, "plugins.grants"),
      holds: [...linesOf(sandbox, "plugins.sandbox"), ...linesOf(strict_trusted, "plugins.strict_trusted")],
    };
  } catch (error) {
    if (error instanceof RangeError || error instanceof SealiftError) return undefined;
    throw error;
  }
}

/**
 * Lists what a shipped configuration gives beyond the one of the running release, one line each: further grants, and
 * every change of what holds the plugins.
 */
export async function moreGranted(running: string, arriving: string): Promise<string[]> {
  const [before, after] = await Promise.all([grantedAt(running), grantedAt(arriving)]);
  if (after === undefined)
    return before === undefined ? [] : ["cannot be read: nobody can tell what it grants"].map(told);
  const known = before ?? { grants: [], holds: [] };
  const beyond = (lines: string[], others: string[]) => lines.filter((line) => !others.includes(line));
  return [
    ...beyond(after.grants, known.grants),
    ...beyond(after.holds, known.holds),
    ...beyond(known.holds, after.holds).map((line) => `no longer ${line}`),
  ].map(told);
}

const told = (line: string): string => printable(`${INTEGRATION_FILE}: ${line}`);
