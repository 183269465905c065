import type { hubStorage } from "../../lib/options/hub.ts";
import type { Values } from "../../lib/options/option.ts";

/** Where a hub's storage is, as the hub takes it. */
export function storageOf({ dataDir, databaseUrl, kekFile }: Values<typeof hubStorage>): {
  dataDir: string;
  databaseUrl?: string;
  kekFile?: string;
} {
  return { dataDir, ...(databaseUrl !== undefined && { databaseUrl }), ...(kekFile !== undefined && { kekFile }) };
}
