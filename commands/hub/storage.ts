import { dirname } from "node:path";
import { usageError } from "../../lib/contract/errors.ts";
import type { KekLocation } from "../../lib/hub/keys/kek-source.ts";
import type { DatabasePlace, HubStorage } from "../../lib/hub/storage/open.ts";
import type { hubStorage } from "../../lib/options/hub.ts";
import type { Values } from "../../lib/options/option.ts";

/** Returns the location of the keys. @throws UsageError `usage` for both a file and a command */
function keksOf({ kekFile, kekCommand }: Values<typeof hubStorage>): KekLocation | undefined {
  // systemd passes a credential as a file that nobody can write.
  const isManaged = kekFile !== undefined && dirname(kekFile) === process.env["CREDENTIALS_DIRECTORY"];
  if (kekCommand === undefined) return kekFile === undefined ? undefined : { file: kekFile, isManaged };
  if (kekFile === undefined || isManaged) return { command: kekCommand };
  throw usageError("usage", "The keys come from --kek-file or from --kek-command, not from both.");
}

type StorageOptions = Values<typeof hubStorage>;

/** Converts the options of a database to the library's form. */
export async function databaseOf({
  dataDir,
  databaseUrl,
}: Pick<StorageOptions, "dataDir" | "databaseUrl">): Promise<DatabasePlace> {
  const { FEATURES: hooks } = await import("../../lib/hub/features.ts");
  return { dataDir, hooks, ...(databaseUrl !== undefined && { databaseUrl }) };
}

/** Converts the options of records and artifacts to the library's form. */
export async function hubPlaceOf({
  blobUrl,
  ...options
}: Pick<StorageOptions, "dataDir" | "databaseUrl"> & { blobUrl: string | undefined }): Promise<HubStorage> {
  return { ...(await databaseOf(options)), ...(blobUrl !== undefined && { blobUrl }) };
}

/** Converts the options of records and keys to the hub's form. @throws UsageError `usage` */
export async function storageOf(options: StorageOptions): Promise<DatabasePlace & { keks?: KekLocation }> {
  const keks = keksOf(options);
  return { ...(await databaseOf(options)), ...(keks !== undefined && { keks }) };
}
