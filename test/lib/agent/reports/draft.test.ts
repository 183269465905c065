import t from "tap";
import type { Run } from "../../../../lib/agent/deployment/run.ts";
import { ReportDraft, reportOf } from "../../../../lib/agent/reports/draft.ts";
import { deploymentError } from "../../../../lib/contract/errors.ts";
import { reportedSteps, type StepOutcome, stepsToReport } from "../../../../lib/contract/surfaces/reports.ts";

t.test("a report begins with the cause, and keeps the chain behind it once", (t) => {
  const jam = new Error("winch jammed");
  const asked = new Error("The request to the runtime failed: the runtime answered 500", { cause: jam });
  const run = {
    ...{ id: "0b9e5f6c", startedAt: "2026-01-01T00:00:00.000Z", draft: new ReportDraft() },
    ...{ source: { slug: "tides", kind: "plugin", requestedVersion: "latest" }, options: { hostId: "host" } },
  } as unknown as Run;
  const chainOf = (message: string) => {
    const error = deploymentError("supervisor_failed", message, { cause: asked });
    return reportOf(run, { status: "failed", error, running: { version: null, signer: null } });
  };
  t.match(chainOf("winch jammed: crane could not be reloaded."), {
    error_message: /^winch jammed/,
    causes: ["The request to the runtime failed: the runtime answered 500"],
  });
  t.same(chainOf("Crane could not be reloaded.").causes, [asked.message, "winch jammed"]);
  t.notOk("causes" in reportOf(run, { status: "success", running: { version: "1.0.0", signer: null } }));
  t.end();
});

t.test("a report counts what came over the network, and what came in vain", (t) => {
  const draft = new ReportDraft();
  const version = "1.0.0";
  const progress = (bytes: number) =>
    draft.hear({ event: "fetch.progress", bytes, size_bytes: 100, unpacked_bytes: 0 });
  const done = { event: "fetch.done", bytes: 100, files: 1, unpacked_bytes: 100 } as const;
  draft.hear({ event: "partial.used", version, bytes: 60, size_bytes: 100 });
  progress(80);
  t.equal(draft.facts().bytes, 20);
  draft.hear({ ...done, kept_bytes: 50 });
  t.equal(draft.facts().bytes, 50, "the disk gave fewer than it had");
  draft.hear({ event: "partial.unusable", version, code: "signature_invalid", reason: "" });
  progress(30);
  draft.hear(done);
  t.equal(draft.facts().bytes, 150);
  t.end();
});

t.test("a hub takes the steps that an agent tells, however many and long they are", (t) => {
  const step = { action: "a".repeat(300), status: "failed", duration_ms: 3, error_message: "e".repeat(9000) } as const;
  const steps: StepOutcome[] = Array.from({ length: 150 }, (_, index) => ({ ...step, id: `step ${index}` }));
  const told = stepsToReport(steps);
  t.same(reportedSteps.parse(told), told);
  t.equal(told.length, 100);
  t.match(told.at(-1), { id: "step 149", status: "failed" }, "the last ones tell how it ended");
  t.end();
});
