import { Command } from "clipanion";
import { artifactError } from "../../lib/contract/errors.ts";
import type { StorageFault, VerifyOptions, VerifyResult } from "../../lib/hub/backup/verify.ts";
import { hubVerify } from "../../lib/options/hub.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { fieldsOf } from "../shell/output/records.ts";
import { backupTrust, copyProgress } from "./copying.ts";
import { hubPlaceOf } from "./storage.ts";

const FAULTS: Record<string, string> = {
  missing: "its bytes are gone",
  wrong_size: "its bytes have another length",
  wrong_bytes: "its bytes are not what was published",
};

const sentenceOf = ({ table, id, fault, part, name, version }: StorageFault): string =>
  part === undefined
    ? `${id} of ${table}  ${FAULTS[fault] ?? fault}`
    : `${name} ${version}  ${FAULTS[fault] ?? fault} (${part} ${id})`;

export class HubVerify extends withOptions(hubVerify) {
  static override paths = [["hub", "verify"]];
  static override listed = () =>
    fieldsOf<StorageFault>({
      table: true,
      id: true,
      fault: true,
      part: true,
      project: true,
      name: true,
      version: true,
    });
  static override usage = Command.Usage({
    category: "Hub",
    description: "Check every record of a hub or backup, and its stored bytes",
    details: `
      Reads all records and artifacts beside the running hub and compares them. Exits with 4 when one is gone or is
      not what was published: publish these versions again, or restore a backup. With \`--backup\` it checks a backup
      instead, with its signature.
    `,
    examples: [
      ["Everything", "$0 hub verify --data-dir /var/lib/sealift-hub"],
      ["A backup", "$0 hub verify --backup /backup/hub --public-key backup.pub"],
    ],
  });

  override async run(): Promise<number> {
    const { backup, quick } = this.options;
    const trust = await backupTrust(this.options);
    const { verifyBackup, verifyHub } = await import("../../lib/hub/backup/verify.ts");
    using interruption = interruptible();
    using progress = await copyProgress(this.surroundings(), "Checking");
    const options: VerifyOptions = {
      quick,
      signal: interruption.signal,
      onProgress: (event) => progress.onProgress(event),
      onFinding: (finding) => {
        progress.stop();
        if (this.json) this.print.event({ event: "finding", ...finding });
        else this.print.line(sentenceOf(finding));
      },
    };
    const place = await hubPlaceOf(this.options);
    const result: VerifyResult =
      backup === undefined
        ? await verifyHub(place, options)
        : await verifyBackup(backup, { trust, hooks: place.hooks }, options);
    progress.stop();
    if (result.findings > 0) {
      const what = `${result.findings} records or artifacts are damaged; ${result.checked} artifacts were checked.`;
      const hint = "Publish these versions again, or restore a backup.";
      return this.fail(artifactError("digest_mismatch", what, { hint }), { ...result });
    }
    if (this.json) return this.done({ ...result });
    this.print.line(`${result.checked} stored artifacts are as their records say`);
    return 0;
  }
}
