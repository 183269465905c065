// Holds: a stick of any size takes the memory of one report (lib/fleet/kits/report-files.ts)
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { reportFiles } from "../../../../lib/fleet/kits/report-files.ts";
import { offlineHost, reportOf } from "../../../support/hub/kits.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("reports come oldest first, and each is read when its turn has come", async (t) => {
  const folder = join(temporaryFolder(t), "reports");
  await mkdir(folder);
  const host = offlineHost("pier-7");
  const text = (minute: number) =>
    reportOf(host, `kit_${"0".repeat(32)}`, "prj_0123456789abcdef", {
      completed_at: `2026-01-01T00:0${minute}:00.000Z`,
    });
  const name = (digit: number) => `${String(digit).repeat(16)}.json`;
  const [last, first, middle] = [text(3), text(1), text(2)];
  for (const [index, each] of [last, first, middle, "{"].entries()) await writeFile(join(folder, name(index)), each);
  const files = reportFiles(folder);
  const next = async () => (await files.next()).value as unknown;
  t.match(await next(), { name: name(3), code: "kit_report_invalid" });
  t.strictSame(await next(), { name: name(1), text: first });
  await writeFile(join(folder, name(2)), last);
  t.strictSame(await next(), { name: name(2), text: last }, "nothing is held meanwhile");
  await rm(folder, { recursive: true });
  t.match(await next(), { name: name(0), code: "kit_report_invalid" }, "a stick that is pulled out in the middle");
  t.match(await files.next(), { done: true });
});
