import { randomUUID } from "node:crypto";
import { UNHEALTHY } from "../../contract/surfaces/host-record.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import { type Standing, troubleText } from "../../releases/health.ts";
import { type Release, runningOf } from "../../releases/release.ts";
import { MAX_MESSAGE, runningFields } from "./draft.ts";

/** Reports of a target among which that of the running release is looked for. */
export const REPORTS_READ = 50;

/**
 * Returns the report of a change of health: a deployment report of what runs, which every hub understands. An unhealthy
 * release is `failed`, with its version running (docs/contract/agent.md).
 *
 * @param stopped units that an operator has stopped
 * @param earlier reports of the target, newest first; the last deployment of the release among them gives its facts
 * @param now ISO 8601
 */
export function healthReport(
  release: Release,
  standing: Standing,
  earlier: readonly LocalReport[],
  now: string,
  stopped: readonly string[],
  host: Pick<LocalReport, "host_id" | "kind" | "slug">,
): LocalReport {
  const { state, since } = standing;
  const { version } = release;
  const deployed = earlier.find((report) => report.status === "success" && report.resolved_version === version);
  const { repo = null, artifact_sha256 = null, signer, plugins = [], steps = [] } = deployed ?? {};
  const isUnhealthy = state === "unhealthy";
  return {
    ...{ ...host, requested_version: version, resolved_version: version, deployment_id: randomUUID() },
    status: isUnhealthy ? "failed" : "success",
    started_at: since,
    completed_at: now,
    error_message: isUnhealthy ? `${UNHEALTHY}${troubleText(standing)}`.slice(0, MAX_MESSAGE) : null,
    code: isUnhealthy ? "unhealthy" : null,
    ...{ repo, artifact_sha256, signer, plugins, steps, bytes: 0, warnings: [] },
    ...runningFields(runningOf(release)),
    health: { state, since, ...(stopped.length > 0 && { stopped: [...stopped] }) },
    about: "health",
  };
}
