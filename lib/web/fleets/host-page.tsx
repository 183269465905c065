import { labelsText } from "../../contract/labels.ts";
import type { ReportRecord } from "../../contract/surfaces/marketplace.ts";
import type { StepOutcome } from "../../contract/surfaces/reports.ts";
import type { Paged } from "../page/api.ts";
import { Remove } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import { Badge, Facts, Go, Live, Pager, Section, Table, Time, type Tone } from "../page/parts.tsx";
import { KeyName } from "../page/version-marks.tsx";
import { pagePaths, type TargetKind } from "../page/view.ts";
import { StateBadge } from "./fleet-page.tsx";
import type { FleetHost } from "./fleets.ts";

export interface HostView {
  kind: TargetKind;
  slug: string;
  name: string;
  host: FleetHost;
  /** The whole error of the last report. */
  error: string | null;
  /** Of the last report; none where the agent does not tell them. */
  steps: readonly StepOutcome[];
  plugins: { name: string; version: string }[];
  /** Undefined where the hub keeps no history that the key may read. */
  history: Paged<ReportRecord> | undefined;
  mayForget: boolean;
}

const OUTCOMES: Record<ReportRecord["status"], [text: string, tone: Tone]> = {
  success: ["success", "good"],
  failed: ["failed", "bad"],
  rolled_back: ["rolled back", "warn"],
};

const STEP_TONES: Record<StepOutcome["status"], Tone> = { done: "good", failed: "bad", skipped: "calm" };

const took = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** One host: its last report, and those before. */
export function HostPage({ kind, slug, name, host, error, steps, plugins, history, mayForget }: HostView) {
  const here = pagePaths.host(kind, slug, host.id);
  return (
    <Layout title={`${host.id}: ${name}`}>
      <p className="kind">
        <Go to={pagePaths.fleet(kind, slug)}>Fleet of {name}</Go>
      </p>
      <h1>{host.id}</h1>
      <Live id="host" of={pagePaths.target(kind, slug)}>
        <Facts
          of={{
            State: <StateBadge of={host} />,
            Runs: <span className="num">{host.version}</span>,
            "Signed by": host.signer === null ? undefined : <KeyName hex={host.signer} />,
            Tried: host.tried === null ? undefined : <span className="num">{host.tried}</span>,
            "Last report": <Time at={host.completedAt} />,
            "Heard of": <Time at={host.heardAt} />,
            Labels: Object.keys(host.labels).length === 0 ? undefined : labelsText(host.labels).replaceAll(",", ", "),
          }}
        />
        {error !== null && (
          <Section id="error" title="Error">
            <pre className="error" tabIndex={0} aria-label="Error">
              {error}
            </pre>
          </Section>
        )}
        {steps.length > 0 && (
          <Section id="steps" title="Steps">
            <Table
              label="Steps of the last report"
              columns={["Step", "Action", "Outcome", ["Took", "num"], ["Error", "why"]]}
              rows={steps.map((step, index) => [
                index,
                step.id,
                step.action,
                <Badge tone={STEP_TONES[step.status]}>{step.status}</Badge>,
                took(step.duration_ms),
                step.error_message,
              ])}
            />
          </Section>
        )}
        {plugins.length > 0 && (
          <Section id="plugins" title="Plugins">
            <ul className="plain-list">
              {plugins.map(({ name: plugin, version }) => (
                <li key={plugin}>
                  {plugin} <span className="num">{version}</span>
                </li>
              ))}
            </ul>
          </Section>
        )}
        {history !== undefined && (
          <Section id="history" title="History">
            <Table
              label="Reports"
              columns={["Finished", "Outcome", ["Version", "num"], ["Error", "why"]]}
              rows={history.items.map((report) => [
                report.id,
                <Time at={report.completed_at} />,
                <Badge tone={OUTCOMES[report.status][1]}>{OUTCOMES[report.status][0]}</Badge>,
                report.version,
                report.error_message,
              ])}
            />
            <Pager to={here} at={history.cursor} next={history.next} />
          </Section>
        )}
      </Live>
      {mayForget && (
        <Section id="forget" title="Forget this host">
          <Remove at={here} verb="Forget" thing={host.id}>
            Forget {host.id}? It leaves the fleet until it reports again.
          </Remove>
        </Section>
      )}
    </Layout>
  );
}
