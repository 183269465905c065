import { hash } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import { artifactError, SealiftError } from "../../contract/errors.ts";
import { type Descriptor, descriptor } from "../../contract/files/descriptor.ts";
import { DESCRIPTOR_FILE, INTEGRATION_FILE } from "../../contract/files/manifest.ts";
import { later } from "../../contract/later.ts";
import { isVariable, moreRights } from "../../contract/rights.ts";
import type { Item } from "../../releases/layout.ts";
import type { Release } from "../../releases/release.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { readTextFile, statsOf } from "../../support/files.ts";
import { printable } from "../../support/printable.ts";
import { parseForeignYaml } from "../../support/yaml-file.ts";

/**
 * Compares a version's rights with those of the running release. Apart from `rights.ts`, since it loads the YAML
 * parser.
 */

const UNREADABLE = "plugin.yaml cannot be read: nobody can tell what it asks for";

/** Items of a version about to be installed, each with the folder that the runtime will load. */
export type Arriving = readonly (Item & { folder: string })[];

/** Descriptor of a plugin, `unreadable`, or undefined for a plugin without one, which no runtime loads. */
export type Described = Descriptor | "unreadable" | undefined;

/** Reads the descriptor in a folder. @param installed digest of the descriptor when it was installed, if known */
async function describedAt(folder: string, installed?: string): Promise<Described> {
  const file = join(folder, DESCRIPTOR_FILE);
  const stats = await statsOf(file);
  if (stats === undefined) return undefined;
  if (!stats.isFile()) return "unreadable";
  try {
    const text = await readTextFile(file, YAML_LIMITS.maxBytes);
    // A plugin that can overwrite its descriptor must not decide what it had requested.
    if (installed !== undefined && hash("sha256", text) !== installed) return undefined;
    return await parseForeignYaml(text, descriptor, file, (message) => artifactError("descriptor_invalid", message));
  } catch (error) {
    if (error instanceof RangeError || error instanceof SealiftError) return "unreadable";
    throw error;
  }
}

/**
 * Lists the rights for which a plugin's upgrade is held: those beyond its running release, one line each. New plugins,
 * and those whose running descriptor cannot be read, are compared with an empty descriptor.
 */
export function moreOf(before: Described, after: Described): string[] {
  if (after === undefined) return [];
  if (after === "unreadable") return before === "unreadable" ? [] : [UNREADABLE];
  const known = before === undefined || before === "unreadable" ? undefined : before;
  const { name } = after;
  return [
    // Operators' grants refer to this name.
    ...(known !== undefined && known.name !== name ? [`name: ${name} instead of ${known.name}, and its grants`] : []),
    // The operator gives a variable its value, or none.
    ...moreRights(known ?? descriptor.parse({ name, version: "0" }), after).filter((right) => !isVariable(right)),
  ].map(printable);
}

/**
 * Returns the rights that arriving items request beyond those of a release, one line each.
 *
 * @param folder of the release
 * @param tree arriving tree with a configuration of the runtime, for sources that may have one
 */
export async function moreThan(
  previous: Pick<Release, "items" | "descriptors">,
  folder: string,
  arriving: Arriving,
  tree: string | undefined,
): Promise<string[]> {
  const lines = tree === undefined ? [] : await moreGranted(folder, tree);
  for (const { section, id, folder: next } of arriving) {
    const had = previous.items.some((item) => item.section === section && item.id === id);
    if (section === "extensions") {
      if (!had) lines.push(`extension ${id}: runs in the runtime's process and can do whatever it can`);
      continue;
    }
    const before = had ? await describedAt(join(folder, section, id), previous.descriptors?.[id]) : undefined;
    lines.push(...moreOf(before, await describedAt(next)).map((right) => `${id}: ${right}`));
  }
  return lines;
}

/**
 * Schema of the part of an `integration.yaml` that gives rights to plugins, for runtimes that use the file a project
 * ships.
 */

const configured = later(() =>
  z.looseObject({
    plugins: z
      .looseObject({ grants: z.unknown(), sandbox: z.unknown(), strict_trusted: z.unknown() })
      .partial()
      .default({}),
  }),
);

/** Returns a line for each value, by its path. */
function linesOf(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => linesOf(item, path));
  if (typeof value !== "object" || value === null)
    return value === undefined ? [] : [`${path}: ${JSON.stringify(value)}`];
  return Object.entries(value).flatMap(([key, inner]) => linesOf(inner, `${path}.${key}`));
}

interface Granted {
  grants: string[];
  /** Settings that confine the plugins. */
  holds: string[];
}

/** Reads the grants of a configuration. @returns undefined when it cannot be read */
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
 * Lists what a shipped configuration grants beyond the running release's, one line each: further grants, and every
 * change of settings that confine plugins.
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
