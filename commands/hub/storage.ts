import { dirname } from "node:path";
import { usageError } from "../../lib/contract/errors.ts";
import type { KekLocation } from "../../lib/hub/keys/kek-source.ts";
import type { DatabasePlace, HubStorage } from "../../lib/hub/storage/open.ts";
import type { hubStorage } from "../../lib/options/hub.ts";
import type { Values } from "../../lib/options/option.ts";

/** @throws UsageError `usage` for a file and a command at once */
function keksOf({ kekFile, kekCommand }: Values<typeof hubStorage>): KekLocation | undefined {
  // systemd passes a credential as a file that nobody can write.
  const isManaged = kekFile !== undefined && dirname(kekFile) === process.env["CREDENTIALS_DIRECTORY"];
  if (kekCommand === undefined) return kekFile === undefined ? undefined : { file: kekFile, isManaged };
  if (kekFile === undefined || isManaged) return { command: kekCommand };
  throw usageError("usage", "The keys come from --kek-file or from --kek-command, not from both.");
}

type Given = Values<typeof hubStorage>;

/** Returns the options of a database as the library takes them. */
export async function databaseOf({
  dataDir,
  databaseUrl,
}: Pick<Given, "dataDir" | "databaseUrl">): Promise<DatabasePlace> {
  const { FEATURES: hooks } = await import("../../lib/hub/features.ts");
  return { dataDir, hooks, ...(databaseUrl !== undefined && { databaseUrl }) };
}

/** Returns the options of records and artifacts as the library takes them. */
export async function placeOf({
  blobUrl,
  ...options
}: Pick<Given, "dataDir" | "databaseUrl"> & { blobUrl: string | undefined }): Promise<HubStorage> {
  return { ...(await databaseOf(options)), ...(blobUrl !== undefined && { blobUrl }) };
}

/** Returns the options of records and keys as the hub takes them. @throws UsageError `usage` */
export async function storageOf(options: Given): Promise<DatabasePlace & { keks?: KekLocation }> {
  const keks = keksOf(options);
  return { ...(await databaseOf(options)), ...(keks !== undefined && { keks }) };
}
