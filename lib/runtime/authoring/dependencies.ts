import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { usageError } from "../../contract/errors.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import { ifThere } from "../../support/files.ts";

/** npm packages that a plugin needs when it runs, by its lock file and as `npm ci` has installed them. */

/** Packages that the host provides, whatever a plugin declares. */
const BROUGHT: ReadonlySet<string> = new Set(["sealift"]);
const LOCK_FILE = "package-lock.json";
const ADVICE = "Run `npm ci` in the plugin's folder.";

const names = z.record(z.string(), z.string()).default({});
const packageFile = z.looseObject({ version: z.string().optional(), dependencies: names });
const lockFile = z.looseObject({
  lockfileVersion: z.number(),
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      license: z.unknown().optional(),
      dev: z.boolean().default(false),
      optional: z.boolean().default(false),
      link: z.boolean().default(false),
    }),
  ),
});

/** Package in the plugin's folder. */
export interface InstalledPackage {
  /** Its folder below the plugin's: `node_modules/NAME`, or deeper. */
  path: string;
  name: string;
  version: string;
  /** Licence as the package states it, such as `MIT`. */
  license: string;
}

/** Reads a JSON file of npm, or returns `undefined` without one. @throws UsageError `usage` */
async function read<T extends z.ZodType>(file: string, schema: T): Promise<z.output<T> | undefined> {
  const text = await ifThere(readFile(file, "utf8"));
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    const faults = error instanceof z.ZodError ? faultsOf(error) : [(error as Error).message];
    throw usageError("usage", `${file} is not what npm writes: ${faults.join("; ")}.`, { faults, cause: error });
  }
}

/** Returns the names of the packages that `package.json` declares as runtime dependencies. */
export async function declaredDependencies(folder: string): Promise<string[]> {
  const found = await read(join(folder, "package.json"), packageFile);
  return Object.keys(found?.dependencies ?? {}).filter((name) => !BROUGHT.has(name));
}

/**
 * Lists the production packages of the lock file, each checked against what is installed.
 *
 * @throws UsageError `usage` without a lock file of npm 7 or newer, and for packages that are linked, missing or have
 *   another version
 */
export async function installedPackages(folder: string): Promise<InstalledPackage[]> {
  const lock = await read(join(folder, LOCK_FILE), lockFile);
  if (lock === undefined || lock.lockfileVersion < 2)
    throw usageError("usage", `${folder} has no ${LOCK_FILE} of npm 7 or newer, and dependencies are packed by it.`, {
      // In a workspace of npm, a plain `npm install` writes the lock file of the whole workspace.
      hint: "Run `npm install --workspaces=false --install-links` in the plugin's folder.",
    });
  const faults: string[] = [];
  const found: InstalledPackage[] = [];
  for (const [path, { version = "", license, dev, optional, link }] of Object.entries(lock.packages)) {
    const name = path.split("node_modules/").at(-1)!;
    if (!path.startsWith("node_modules/") || dev || BROUGHT.has(path.split("/")[1]!)) continue;
    const installed = await read(
      join(folder, path, "package.json"),
      packageFile.extend({ license: z.unknown().optional() }),
    );
    if (link) faults.push(`${path} is a link: publish that package, or bundle it`);
    else if (installed === undefined) {
      if (!optional) faults.push(`${path} is not installed`);
    } else if (installed.version !== version)
      faults.push(`${path} is ${installed.version ?? "without a version"}, and the lock file has ${version}`);
    else found.push({ path, name, version, license: licenseOf(installed.license) ?? licenseOf(license) ?? "" });
  }
  if (faults.length > 0)
    throw usageError("usage", `The dependencies of ${folder} are not those of its lock file: ${faults.join("; ")}.`, {
      faults,
      hint: ADVICE,
    });
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Returns the licence, such as `MIT`, also from a package that states it as an object. */
function licenseOf(said: unknown): string | undefined {
  if (typeof said === "string") return said;
  const { type } = (said ?? {}) as { type?: unknown };
  return typeof type === "string" ? type : undefined;
}

/** Lists the packages and their licences, for people. */
export const licenceNotice = (packages: readonly InstalledPackage[]): string =>
  [
    "Packages of npm in this archive, with the licence that each of them names. Its text is in the package's folder.\n",
    ...packages.map(({ path, name, version, license }) => `${name} ${version}: ${license || "not named"} (${path})`),
    "",
  ].join("\n");
