// Holds: which failures blame a version (lib/contract/blame.ts)
import { renderToString } from "ink";
import { createElement } from "react";
import t from "tap";
import { History, ReportShow } from "../../commands/targets/history.ts";
import { interruptedReport } from "../../lib/agent/reports/draft.ts";
import { writeReport } from "../../lib/agent/reports/report.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { HistoryView } from "../../lib/tui/history-view.tsx";
import { GIVEN_TARGET } from "../support/host/given-source.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("the history says that a deployment was interrupted or waits, and a report has its log", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const attempt = {
    ...{ v: 1 as const, target: GIVEN_TARGET, kind: "project" as const, slug: "prj_0123456789", release: "r" },
    ...{ host_id: "a", requested_version: "latest", resolved_version: "2.0.0", identity: null },
    ...{ started_at: "2026-11-29T10:00:00.000Z", boot_id: null },
  };
  const killed = { ...interruptedReport({ ...attempt, deployment_id: "aaaa" }, "rolled_back"), log: ["the last line"] };
  await writeReport(layout, GIVEN_TARGET, killed);
  const full = { ...killed, deployment_id: "bbbb", code: "disk_full", error_message: "No space left." };
  await writeReport(layout, GIVEN_TARGET, full);
  const { stdout } = await runHere([History], ["history", "--project-root", root]);
  t.match(stdout, /2\.0\.0 +interrupted .* aaaa +The deployment was interrupted/);
  t.match(stdout, /2\.0\.0 +waits .* bbbb +No space left/);
  const shown = await runHere([ReportShow], ["report", "show", "aaaa", "--project-root", root]);
  t.match(shown.stdout, /status +rolled_back \(interrupted\)[\s\S]*log +the last line/);

  const rows = [{ target: "a", at: 0, version: "2.0.0", durationMs: 1, message: "x" }];
  const view = (code: string) =>
    renderToString(
      createElement(HistoryView, {
        ...{ rows: rows.map((row) => ({ ...row, status: "failed" as const, code })), width: 100, height: 5 },
        ...{ scroll: 0, now: 0 },
      }),
    );
  t.match(view("interrupted"), "interrupted");
  t.match(view("unhealthy"), /failed/);
});
