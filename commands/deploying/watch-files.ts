import { readFile, rename, writeFile } from "node:fs/promises";
import { usageError } from "../../lib/contract/errors.ts";
import type { Layer } from "../../lib/options/layers.ts";

/** Name of the file with the runtime's plugin key, beside `watch.yaml`. */
export const PLUGIN_KEY = "plugin.key";

interface HostOptions {
  hostId?: string | undefined;
  supervisor?: string | undefined;
  supervisorName?: string | undefined;
  runtimeUrl?: string | undefined;
}

/** Returns the given options about the host, as keys of watch.yaml. */
export function givenAboutHost(
  { hostId, supervisor, supervisorName, runtimeUrl }: HostOptions,
  layers: readonly Layer[],
): Record<string, string> {
  const values = { "host-id": hostId, supervisor, "supervisor-name": supervisorName, "runtime-url": runtimeUrl };
  const isGiven = (name: string): boolean => layers.some((layer) => layer.get(name) !== undefined);
  const given = Object.entries(values).flatMap(([name, value]) =>
    value !== undefined && isGiven(name) ? [[name.replaceAll("-", "_"), value] as const] : [],
  );
  if (supervisor === "runtime") given.push(["plugin_key_file", PLUGIN_KEY]);
  return Object.fromEntries(given);
}

/**
 * Writes a new file.
 *
 * @param otherwise hint for a file that exists
 * @throws UsageError `usage` for a file that exists or cannot be written
 */
export async function writeNew(
  file: string,
  text: string,
  otherwise = "Name another folder with --out.",
): Promise<void> {
  await writeFile(file, text, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "EEXIST" ? "exists already" : `cannot be written: ${error.message}`;
    throw usageError("usage", `${file} ${why}.`, { hint: otherwise });
  });
}

/** Writes a file unless it is there with these words. @throws UsageError `usage` as {@link writeNew} */
export async function writeOnce(file: string, text: string): Promise<void> {
  if ((await readFile(file, "utf8").catch(() => undefined)) !== text) await writeNew(file, text);
}

/** Writes a file; one that is there with other words is kept as `.old`. @throws UsageError `usage` */
export async function setAside(file: string, text: string): Promise<void> {
  const before = await readFile(file, "utf8").catch(() => undefined);
  if (before === text) return;
  if (before !== undefined) await rename(file, `${file}.old`);
  await writeNew(file, text);
}
