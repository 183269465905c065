import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import * as z from "zod";
import { usageError } from "../../contract/errors.ts";
import { WATCH_PATHS, type WatchConfig, watchConfig, type WatchEntry } from "../../contract/files/watch.ts";
import { faultsOf, readYamlFile } from "../../support/yaml-file.ts";

/** What a watch.yaml says. */
export interface WatchFile {
  targets: WatchEntry[];
  /** Options that the targets share. */
  shared: Omit<WatchConfig, "targets">;
  /** Faults that leave the rest readable, so that they can be told together with its faults. */
  unknownKeys: string[];
}

/** Reads watch.yaml; relative paths in it start at its folder. @throws UsageError `config_invalid` with every fault but unknown keys */
export async function readWatchConfig(file: string): Promise<WatchFile> {
  const folder = dirname(resolve(file));
  const located = <T extends object>(options: T): T =>
    Object.fromEntries(
      Object.entries(options).map(([key, value]) => {
        if (typeof value !== "string") return [key, value as unknown];
        if (WATCH_PATHS.has(key)) return [key, resolve(folder, value)];
        // A key may be written out or stand in a file.
        const keyFile = key === "signer_public_key" ? resolve(folder, value) : undefined;
        return [key, keyFile !== undefined && existsSync(keyFile) ? keyFile : value];
      }),
    ) as T;
  const [{ targets, ...shared }, unknownKeys] = withoutUnknownKeys(await readYamlFile(file, z.unknown()), file);
  return { shared: located(shared), targets: targets.map(located), unknownKeys };
}

type Keyed = Record<PropertyKey, unknown>;

/** @throws UsageError `config_invalid` when there is more wrong than unknown keys */
function withoutUnknownKeys(value: unknown, file: string): [WatchConfig, unknownKeys: string[]] {
  const parsed = watchConfig.safeParse(value);
  if (parsed.success) return [parsed.data, []];
  const faults = faultsOf(parsed.error);
  for (const issue of parsed.error.issues) {
    if (issue.code !== "unrecognized_keys")
      throw usageError("config_invalid", `${file} is not valid: ${faults.join("; ")}`, { faults });
    const holder = issue.path.reduce<Keyed>((at, key) => at[key] as Keyed, value as Keyed);
    for (const key of issue.keys) delete holder[key];
  }
  return [watchConfig.parse(value), faults];
}
