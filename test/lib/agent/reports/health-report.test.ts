// Holds: what a report of a change of health says (lib/agent/reports/health-report.ts, lib/releases/health.ts)
import t from "tap";
import { healthReport } from "../../../../lib/agent/reports/health-report.ts";
import type { LocalReport } from "../../../../lib/contract/surfaces/reports.ts";
import { readStanding, writeStanding } from "../../../../lib/releases/health.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import type { Release } from "../../../../lib/releases/release.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const NOW = "2026-12-01T00:00:00Z";
const FOUND = { v: 1, release: "2.0.0-r1", state: "unhealthy", since: NOW, units: { "apps/web": "it ended" } } as const;
const RELEASE = { name: FOUND.release, version: "2.0.0", items: [], identity: null } as unknown as Release;
const HOST = { host_id: "host", kind: "project", slug: "prj_0123456789" } as const;

t.test("it has the facts of the last deployment of its release that went well", (t) => {
  const of = (status: string, resolved_version: string, repo: string) =>
    ({ status, resolved_version, repo, plugins: [], steps: [] }) as unknown as LocalReport;
  const earlier = [
    ...[of("failed", "2.0.0", "failed"), of("success", "1.0.0", "older")],
    ...[of("success", "2.0.0", "this one"), of("success", "2.0.0", "before it")],
  ];
  const report = healthReport(RELEASE, FOUND, earlier, NOW, [], HOST);
  t.match(report, { status: "failed", code: "unhealthy", repo: "this one" });
  t.strictSame(report.health, { state: "unhealthy", since: NOW }, "nobody has stopped anything");
  t.strictSame(healthReport(RELEASE, FOUND, [], NOW, ["apps/web"], HOST).health?.stopped, ["apps/web"]);
  t.end();
});

t.test("the health of a release that does not run is nobody's", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  await writeStanding(layout, "project-p", FOUND);
  t.equal(await readStanding(layout, "project-p"), undefined);
});
