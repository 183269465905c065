import { usageError } from "../../lib/contract/errors.ts";
import type { CopyProgress } from "../../lib/hub/backup/backup.ts";
import type { BackupTrust } from "../../lib/hub/backup/manifest.ts";
import type { Omission } from "../../lib/hub/backup/omissions.ts";
import { counted } from "../../lib/support/counted.ts";
import { readFault, readKeyFile } from "../../lib/support/files.ts";
import type { Surroundings } from "../shell/output/deployment.ts";
import { openProgress } from "../shell/output/progress.ts";

/** Shortest interval between two events, and between two lines without a terminal, in milliseconds. */
const EVENT_INTERVAL_MS = 1000;
const LINE_INTERVAL_MS = 10_000;

/** Reports the progress of copying a hub: a bar on a terminal, lines or events at intervals elsewhere. */
export async function copyProgress({ json, print, stderr }: Surroundings, doing: string) {
  const bar = await openProgress(stderr);
  const everyMs = json ? EVENT_INTERVAL_MS : LINE_INTERVAL_MS;
  let told = performance.now();
  return {
    onProgress(progress: CopyProgress): void {
      const { artifacts, total_artifacts: all, bytes, total_bytes: allBytes } = progress;
      if (!json && stderr.isTTY) return bar.update(doing, bytes, allBytes);
      if (performance.now() - told < everyMs) return;
      told = performance.now();
      if (json) print.event({ event: "progress", ...progress });
      else bar.line(`${doing}: ${artifacts} of ${counted(all, "artifact")}, ${bytes} of ${counted(allBytes, "byte")}`);
    },
    onOmission(omission: Omission): void {
      if (json) print.event({ event: "left_out", ...omission });
      else bar.line(`left out: ${omission.id} of ${omission.table}, ${omission.reason}: ${omission.fault}`);
    },
    /** Removes the bar from the terminal, before something else is printed there. */
    stop: () => bar.stop(),
    [Symbol.dispose]: () => bar.stop(),
  };
}

/** Returns the key that a backup must be signed with. @throws UsageError as {@link publicKeyFrom} */
export async function backupTrust({
  publicKey,
  unsigned,
}: {
  publicKey: string | undefined;
  unsigned: boolean;
}): Promise<BackupTrust> {
  if (publicKey === undefined || unsigned) return "unsigned";
  const { publicKeyFrom } = await import("../shell/signer.ts");
  return publicKeyFrom(publicKey, "--public-key");
}

/** Returns the seed of the key that signs a backup. @throws UsageError `credential_unreadable`, `key_file_invalid` */
export async function backupSeed(file: string | undefined): Promise<Uint8Array | undefined> {
  if (file === undefined) return undefined;
  const { parsePrivateKey } = await import("../../lib/artifact/signatures/key-files.ts");
  const content = await readKeyFile(file).catch((error: unknown) => {
    throw usageError("credential_unreadable", `--key ${file} cannot be read: ${readFault(error)}.`, {
      cause: error,
      hint: "Check the path.",
    });
  });
  return parsePrivateKey(content, "--key");
}
