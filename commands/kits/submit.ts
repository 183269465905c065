import { join, resolve } from "node:path";
import { Command, Option } from "clipanion";
import { EXIT } from "../../lib/contract/codes.ts";
import { KIT_REPORTS_FOLDER, MAX_KIT_REPORTS } from "../../lib/contract/kits/limits.ts";
import type { KitReportsTaken } from "../../lib/contract/kits/records.ts";
import type { ReportFile } from "../../lib/fleet/kits/report-files.ts";
import { kitSubmit } from "../../lib/options/kits.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";

/** Most bytes of reports in one request, unless one alone has more. */
const BATCH_BYTES = 4 * 1024 * 1024;

export class KitSubmit extends withOptions(kitSubmit) {
  static override paths = [["kit", "submit"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Hand in the reports that came back on a stick",
    details: `
      Uploads what lies in the folder \`reports\` of the stick. The hub takes what a host of its kit has signed, each
      once, whoever brings it twice; it counts as of the time when it was made. A file that cannot be read is refused,
      and keeps no other one back. Nothing is removed from the stick.
    `,
    examples: [["From a stick", "$0 kit submit /media/stick"]],
  });

  folder = Option.String({ name: "FOLDER", required: true });

  override async run(): Promise<number> {
    const [{ entryCalled, noSuchEntry }, { reportFiles }, { callsOf }, { submitKitReports }] = await Promise.all([
      import("../../lib/artifact/kits/kit-folder.ts"),
      import("../../lib/fleet/kits/report-files.ts"),
      import("../../lib/client/calls.ts"),
      import("../../lib/contract/kits/routes.ts"),
    ]);
    const folder = resolve(this.folder);
    const entry = await entryCalled(folder, KIT_REPORTS_FOLDER);
    if (entry === undefined) throw await noSuchEntry(folder, KIT_REPORTS_FOLDER);
    const client = callsOf({ submitKitReports }, hubConnection(this.options, DEPLOY_TIMEOUT_MS));
    const counts = { taken: 0, known: 0, refused: 0 };
    const tell = (file: string, { state, host_id: host, code, message }: KitReportsTaken["items"][number]): void => {
      counts[state]++;
      if (this.json) this.print.event({ event: "report", file, state, host_id: host, code, message });
      else
        this.print.line(
          `${file}: ${state}${host === null ? "" : `, ${host}`}${code === null ? "" : ` (${code}) ${message}`}`,
        );
    };
    let batch: ReportFile[] = [];
    const send = async (): Promise<void> => {
      const sent = batch;
      batch = [];
      if (sent.length === 0) return;
      const { items } = await client.submitKitReports({ body: { reports: sent.map(({ text }) => text) } });
      for (const [index, item] of items.entries()) tell(sent[index]!.name, item);
    };
    for await (const report of reportFiles(join(folder, entry))) {
      if (!("text" in report)) {
        const { name, code, message } = report;
        tell(name, { state: "refused", host_id: null, code, message });
        continue;
      }
      const bytes = batch.reduce((sum, { text: other }) => sum + other.length, report.text.length);
      if (batch.length === MAX_KIT_REPORTS || (batch.length > 0 && bytes > BATCH_BYTES)) await send();
      batch.push(report);
    }
    await send();
    this.note(`${counts.taken} taken, ${counts.known} known already, ${counts.refused} refused`);
    this.done(counts);
    return counts.refused > 0 ? EXIT.verification : EXIT.done;
  }
}
