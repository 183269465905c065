// Holds: what of a report travels, and where it is written (lib/agent/sources/kits/reporter.ts)
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { carryReport, kitReporter } from "../../../../../lib/agent/sources/kits/reporter.ts";
import { hostKeyOf, newHostSeed } from "../../../../../lib/artifact/sealed/host-key.ts";
import { parseKitReport } from "../../../../../lib/artifact/sealed/kit.ts";
import type { LocalReport } from "../../../../../lib/contract/surfaces/reports.ts";
import { keepKitReport, keptKitReports } from "../../../../../lib/releases/kits.ts";
import { layoutOf } from "../../../../../lib/releases/layout.ts";
import { temporaryFolder } from "../../../../support/temporary-folder.ts";

const target = { kind: "project", slug: "prj_0123456789abcdef" } as const;
const NAME = "project-prj_0123456789abcdef";
const KIT = `kit_${"0".repeat(32)}`;

t.test("a report of ten thousand plugins travels without them", async (t) => {
  const folder = temporaryFolder(t);
  const layout = layoutOf(folder);
  const key = hostKeyOf(newHostSeed());
  const plugins = Array.from({ length: 10_000 }, (_, index) => ({ id: `plugin-${index}`, note: "x".repeat(60) }));
  const reporter = kitReporter({
    ...{ key, target, folder: undefined, openedKit: () => KIT },
    wireReport: ({ deployment_id }) => ({ deployment_id, plugins, log: ["a line"] }),
  });
  const report = { host_id: "ship-1", deployment_id: "a" } as LocalReport;
  await reporter.report(report, new AbortController().signal, layout);
  const [kept] = await Array.fromAsync(keptKitReports(layout, NAME));
  const travels = parseKitReport(kept!.text);
  t.ok(travels.isSignedBy(key.ed25519));
  t.strictSame(JSON.parse(travels.signed.report), { deployment_id: "a", plugins: [] });
});

t.test("the last hundred reports of a target are kept", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  for (let index = 0; index < 103; index++)
    await keepKitReport(layout, NAME, `report ${index}`, index.toString(16).padStart(16, "0"));
  const kept = await Array.fromAsync(keptKitReports(layout, NAME), ({ text }) => text);
  t.equal(kept.length, 100);
  t.match([kept[0], kept.at(-1)], ["report 3", "report 102"]);
});

t.test("a report goes into a folder of the stick, and through no link", async (t) => {
  const folder = temporaryFolder(t);
  const [stick, outside] = [join(folder, "stick"), join(folder, "outside")];
  for (const path of [stick, outside]) await mkdir(path);
  await symlink(outside, join(stick, "reports"));
  await t.rejects(carryReport(stick, "0123456789abcdef.json", "text"));
  t.strictSame(await readdir(outside), []);
  const next = join(folder, "next");
  await mkdir(join(next, "REPORTS"), { recursive: true });
  t.equal(await carryReport(next, "0123456789abcdef.json", "text"), true);
  t.equal(await carryReport(next, "0123456789abcdef.json", "text"), false);
  await writeFile(join(next, "REPORTS/0123456789abcdef.json"), "te");
  t.equal(await carryReport(next, "0123456789abcdef.json", "text"), true, "one that was cut is written again");
  t.equal(await readFile(join(next, "REPORTS/0123456789abcdef.json"), "utf8"), "text\n");
});
