import type { HubConnection } from "../../client/hub-connection.ts";
import { MarketplaceClient } from "../../client/marketplace-client.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { type DeploymentReport, type LocalReport, stepsToReport } from "../../contract/surfaces/reports.ts";
import type { Reporter } from "../base/reporter.ts";

/** Plugin or service whose deployments are reported. */
interface Named {
  kind: MarketplaceKind;
  slug: string;
}

/** Returns a reporter of a plugin's or service's deployments on this host. */
export function marketplaceReporter(options: HubConnection & Named): Reporter {
  const { kind, slug } = options;
  return {
    async report(report: LocalReport, signal: AbortSignal): Promise<void> {
      const body = marketplaceReportOf(report, options);
      await new MarketplaceClient(kind, slug, { ...options, signal }).report(body, report.trust_root);
    },
  };
}

/** Returns the report of a plugin's or service's deployment as it goes to the hub. */
export function marketplaceReportOf(
  report: LocalReport,
  { kind, slug, labels }: Named & Pick<HubConnection, "labels">,
): DeploymentReport {
  const { status, started_at, completed_at, host_id, repo, error_message, code } = report;
  const { running_version, running_signer, health, log } = report;
  return {
    ...{ kind, slug, version: report.resolved_version ?? report.requested_version, status },
    ...{ started_at, completed_at, host_id, repo, error_message, running_version, running_signer },
    ...(code !== null && { code }),
    ...(health !== undefined && { health }),
    steps: stepsToReport(report.steps),
    ...(log !== undefined && { log }),
    ...(labels !== undefined && { labels }),
  };
}
