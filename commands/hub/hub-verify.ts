import { Command } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import type { Finding } from "../../lib/hub/backup/verify.ts";
import { hubVerify } from "../../lib/options/hub.ts";
import { withOptions } from "../shell/base.ts";
import { fieldsOf } from "../shell/output/records.ts";
import { placeOf } from "./storage.ts";

const FAULTS = {
  missing: "its bytes are gone",
  wrong_size: "its bytes have another length",
  wrong_bytes: "its bytes are not what was published",
} as const;

const sentenceOf = ({ id, fault, part, name, version }: Finding): string =>
  `${name} ${version}  ${FAULTS[fault]} (${part} ${id})`;

export class HubVerify extends withOptions(hubVerify) {
  static override paths = [["hub", "verify"]];
  static override listed = () =>
    fieldsOf<Finding>({ id: true, fault: true, part: true, project: true, name: true, version: true });
  static override usage = Command.Usage({
    category: "Hub",
    description: "Check every record of a hub against its stored bytes",
    details: `
      Reads all artifacts beside the running hub and compares them with their records. Exits with 4 when one is gone
      or is not what was published: publish these versions again, or restore a backup.
    `,
    examples: [["Everything", "$0 hub verify --data-dir /var/lib/sealift-hub"]],
  });

  override async run(): Promise<number> {
    const { verifyHub } = await import("../../lib/hub/backup/verify.ts");
    const result = await verifyHub(placeOf(this.options), {
      quick: this.options.quick,
      onFinding: (finding) => {
        if (this.json) this.print.event({ event: "finding", ...finding });
        else this.print.line(sentenceOf(finding));
      },
    });
    const { verificationError } = await import("../../lib/hub/backup/verification-error.ts");
    if (result.findings > 0)
      return this.fail(verificationError(`${result.findings} of ${result.checked} stored artifacts are wrong.`), {
        ...result,
      });
    if (!this.json) this.print.line(`${result.checked} stored artifacts are as their records say`);
    return this.json ? this.done({ ...result }) : EXIT.done;
  }
}
