import { Command } from "clipanion";
import type { BackupResult } from "../../lib/hub/backup/backup.ts";
import { hubBackup, hubMove, hubRestore } from "../../lib/options/hub.ts";
import { counted } from "../../lib/support/counted.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { backupSeed, backupTrust, copyProgress } from "./copying.ts";
import { hubPlaceOf } from "./storage.ts";

const summary = ({ records, copied, present, bytes, left_out: leftOut }: BackupResult): string =>
  `${counted(records, "record")}, ${counted(copied, "artifact")} copied (${counted(bytes, "byte")}), ${present} there already` +
  (leftOut > 0 ? `, ${leftOut} left out` : "");

export class HubBackup extends withOptions(hubBackup) {
  static override paths = [["hub", "backup"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Back a hub up to a folder, beside the running hub",
    details: `
      Copies all records as they are at one moment, then the artifacts that they name, each checked against its
      digest. Run it again on the same folder, and only what is new is copied. Versions that somebody deletes
      meanwhile are taken from the trash. The key-encryption keys are not part of the backup: keep them apart, for
      both together open every artifact. The key of \`--key\` signs the backup, and \`hub restore\` asks for its
      public key.
    `,
    examples: [
      ["Every night", "$0 hub backup --data-dir /var/lib/sealift-hub --to /backup/hub --key backup.key"],
      ["On a disk of your own", "$0 hub backup --data-dir /var/lib/sealift-hub --to /backup/hub --unsigned"],
    ],
  });

  override async run(): Promise<number> {
    const { to, key, skipDamaged } = this.options;
    const seed = await backupSeed(key);
    const { backupHub } = await import("../../lib/hub/backup/backup.ts");
    using interruption = interruptible();
    using progress = await copyProgress(this.surroundings(), "Backing up");
    const { signal } = interruption;
    const result = await backupHub(await hubPlaceOf(this.options), to, { seed, skipDamaged, signal, ...progress });
    progress.stop();
    if (this.json) return this.done({ ...result, to });
    this.print.line(`backed up ${summary(result)}`);
    return 0;
  }
}

export class HubRestore extends withOptions(hubRestore) {
  static override paths = [["hub", "restore"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Restore a backup into a new database and blob storage",
    details: `
      The database must be empty. Then put the backed-up kek.json into the data folder, or name where the keys
      come from, and start the hub: keys, projects, versions and reports are as they were; agents open new
      sessions.
    `,
    examples: [
      [
        "To a new machine",
        "$0 hub restore --backup /backup/hub --public-key backup.pub --data-dir /var/lib/sealift-hub",
      ],
    ],
  });

  override async run(): Promise<number> {
    const { backup, skipDamaged } = this.options;
    const trust = await backupTrust(this.options);
    const { restoreHub } = await import("../../lib/hub/backup/backup.ts");
    using interruption = interruptible();
    using progress = await copyProgress(this.surroundings(), "Restoring");
    const { signal } = interruption;
    const result = await restoreHub(backup, await hubPlaceOf(this.options), {
      trust,
      skipDamaged,
      signal,
      ...progress,
    });
    progress.stop();
    if (this.json) return this.done({ ...result });
    this.print.line(`restored ${summary(result)}`);
    this.note("Start the hub with the key-encryption keys that it had.");
    return 0;
  }
}

export class HubMove extends withOptions(hubMove) {
  static override paths = [["hub", "move"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Copy a hub to another database and blob storage",
    details: `
      From SQLite to PostgreSQL, from a folder to a bucket, or back. Run it beside the running hub first, which
      takes the time; then stop the hub, run it again, which brings the copy up to date, and start the hub on
      its new place with the key-encryption keys that it had.
    `,
    examples: [
      [
        "To PostgreSQL and S3",
        "$0 hub move --data-dir old --to-data-dir new --to-database-url postgres://hub@db/hub --to-blob-url s3://bucket/hub",
      ],
    ],
  });

  override async run(): Promise<number> {
    const { moveHub } = await import("../../lib/hub/backup/backup.ts");
    const { toDataDir, toDatabaseUrl, toBlobUrl } = this.options;
    const target = await hubPlaceOf({ dataDir: toDataDir, databaseUrl: toDatabaseUrl, blobUrl: toBlobUrl });
    using interruption = interruptible();
    using progress = await copyProgress(this.surroundings(), "Moving");
    const { signal } = interruption;
    const { skipDamaged } = this.options;
    const result = await moveHub(await hubPlaceOf(this.options), target, { skipDamaged, signal, ...progress });
    progress.stop();
    if (this.json) return this.done({ ...result });
    this.print.line(`moved ${summary(result)}`);
    return 0;
  }
}
