import { dirname } from "node:path";
import { usageError } from "../../lib/contract/errors.ts";
import type { KekLocation } from "../../lib/hub/keys/kek-source.ts";
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

/** The hub's storage, as the hub takes it. @throws UsageError `usage` */
export function storageOf(options: Values<typeof hubStorage>): {
  dataDir: string;
  databaseUrl?: string;
  keks?: KekLocation;
} {
  const { dataDir, databaseUrl } = options;
  const keks = keksOf(options);
  return { dataDir, ...(databaseUrl !== undefined && { databaseUrl }), ...(keks !== undefined && { keks }) };
}
