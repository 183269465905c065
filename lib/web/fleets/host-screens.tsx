import type { FastifyRequest } from "fastify";
import type { ReactNode } from "react";
import { applicationsOf } from "../../contract/facts/host-applications.ts";
import { type FormedFactIn, partsOf } from "../../contract/facts/host-shown.ts";
import * as routes from "../../contract/fleets/routes.ts";
import type { KitRecord } from "../../contract/kits/records.ts";
import { listKits } from "../../contract/kits/routes.ts";
import { listReports } from "../../contract/reports/routes.ts";
import { blamelessCause, stoppedText, WAIT_TEXTS } from "../../contract/surfaces/host-record.ts";
import type { ReportRecord } from "../../contract/surfaces/marketplace.ts";
import type { StepOutcome } from "../../contract/surfaces/reports.ts";
import { may } from "../../hub/base/principal.ts";
import { type Api, callTo, unlessHidden } from "../page/api.ts";
import { field, param, requirePrincipal, type Screen } from "../page/context.ts";
import { ActionButton, Field, Opened, Remove } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import { targetScreen } from "../page/named-target.ts";
import { Badge, FactList, Go, Live, Pager, Section, Table, Time, type Tone, withNotes } from "../page/parts.tsx";
import { KeyName } from "../page/version-marks.tsx";
import { pagePaths, type TargetKind } from "../page/view.ts";
import { APPLICATION_COLUMNS, applicationCells } from "./application-parts.tsx";
import { StateBadge } from "./fleet-parts.tsx";
import { fleetScreen } from "./fleet-screens.tsx";
import { fleetCall, type FleetHost, hostOf } from "./fleets.ts";

const OUTCOMES: Record<ReportRecord["status"], [text: string, tone: Tone]> = {
  success: ["success", "good"],
  failed: ["failed", "bad"],
  rolled_back: ["rolled back", "warn"],
};

/** Shows how a deployment ended; of one that blames no version also why. */
function OutcomeBadge({ of }: { of: ReportRecord }) {
  const cause = blamelessCause(of);
  const [text, tone] = OUTCOMES[of.status];
  return cause === undefined ? <Badge tone={tone}>{text}</Badge> : <Badge tone="warn">{WAIT_TEXTS[cause]}</Badge>;
}

const STEP_TONES: Record<StepOutcome["status"], Tone> = { done: "good", failed: "bad", skipped: "calm" };

const took = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** Facts with a place on the page outside of the list. */
type Apart = "host_id" | "error_message" | "steps" | "log" | "plugins" | "applications";

/** Fact of the list; undefined for nothing to show. */
type Fact = (host: FleetHost) => ReactNode;

/** Facts of the list that have a form, in its order. */
const FACTS: Record<Exclude<FormedFactIn<"host page">, Apart>, Fact> = {
  state: (host) => <StateBadge of={host} />,
  health: ({ unhealthySince: since }) => (since === undefined ? undefined : <Time at={since} />),
  running_version: ({ version, record }) => (
    <>
      <span className="num">{version}</span> {stoppedText(record)}
    </>
  ),
  running_signer: ({ signer }) => (typeof signer === "string" ? <KeyName hex={signer} /> : undefined),
  version: ({ tried }) => (tried === null ? undefined : <span className="num">{tried}</span>),
  completed_at: ({ completedAt }) => <Time at={completedAt} />,
  seen_at: ({ heardAt }) => <Time at={heardAt} />,
};

const PARTS = partsOf<Fact>(
  "host page",
  FACTS,
  (text) =>
    ({ record }) =>
      text(record) || undefined,
);

/** Shows one host: its last report, and earlier ones. */
export const host = fleetScreen(async ({ api, hub }, request, target) => {
  const { kind, slug, name } = target;
  const id = param(request, "host");
  const detail = await api.call(request, fleetCall([routes.showProjectHost, routes.showTargetHost], target, id));
  const host = hostOf(id, detail);
  const { error_message: error, steps, log = [] } = detail;
  const told = applicationsOf(detail, hub.clock()).filter(({ application }) => application !== null);
  const { plugins = [] } = "plugins" in detail ? detail : {};
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const history = await reportsOf(api, request, kind);
  const kits = await kitsOf(api, request, target.id);
  const here = pagePaths.host(kind, slug, id);
  return (
    <Layout title={`${id}: ${name}`}>
      <p className="kind">
        <Go to={pagePaths.fleet(kind, slug)}>Fleet of {name}</Go>
      </p>
      <h1>{id}</h1>
      <Live id="host" of={pagePaths.target(kind, slug)}>
        <FactList of={Object.fromEntries(PARTS.map(({ title, cell }) => [title, cell(host)]))} />
        {error !== null && (
          <Section id="error" title="Error">
            <pre className="error" tabIndex={0} aria-label="Error">
              {error}
            </pre>
          </Section>
        )}
        {log.length > 0 && (
          <Section id="log" title="Log">
            <p className="help">The last lines of the application that failed, as the host sent them.</p>
            <pre tabIndex={0} aria-label="Log">
              {log.join("\n")}
            </pre>
          </Section>
        )}
        {told.length > 0 && (
          <Section id="applications" title="Applications">
            <p className="help">As the host has told in its last report that named them.</p>
            <Table
              label="Applications"
              columns={["Application", ...APPLICATION_COLUMNS]}
              rows={told.map((of) => [of.application ?? "", of.application, ...applicationCells(of)])}
            />
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
              {plugins.map(({ id: plugin, name: title, version }) => (
                <li key={text(plugin) || text(title)}>
                  {text(plugin) || text(title)} <span className="num">{text(version)}</span>
                </li>
              ))}
            </ul>
          </Section>
        )}
        {kits.length > 0 && (
          <Section id="kits" title="Kits">
            <p className="help">Whoever has this host and one of these sticks can open it until its end.</p>
            <Table
              label="Kits that have not ended"
              columns={["Kit", "Of", ["Version", "num"], "Ends"]}
              rows={kits.map(({ id: kit, target: of, version, ends_at: end, ended_at: ended }) => [
                kit,
                withNotes(kit, ended !== null && "ended at the hub"),
                of,
                version,
                <Time at={end} />,
              ])}
            />
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
                <OutcomeBadge of={report} />,
                report.version,
                report.error_message,
              ])}
            />
            <Pager to={here} at={history.cursor} next={history.next} />
          </Section>
        )}
      </Live>
      {may(requirePrincipal(request), "projects") && (
        <Section id="forget" title="Forget this host">
          <Remove at={here} verb="Forget" thing={id}>
            Forget {id}? It leaves the fleet until it reports again.
          </Remove>
        </Section>
      )}
      {target.isControlled && may(requirePrincipal(request), "projects") && (
        <Section id="service" title="Out of service">
          <p className="help">Rollouts neither count it nor wait for it. It goes on taking versions.</p>
          {detail.out_of_service === undefined ? (
            <Opened to={`${here}/service`} title="Take it out of service">
              <Field label="Reason" name="out_of_service" required maxLength={256} />
              <button>Take out of service</button>
            </Opened>
          ) : (
            <ActionButton to={`${here}/service`}>Take back into service</ActionButton>
          )}
        </Section>
      )}
    </Layout>
  );
});

/** Reads the reports of a host; undefined where the hub keeps none, or none that the key may read. */
async function reportsOf(api: Api, request: FastifyRequest, kind: TargetKind) {
  if (kind === "project") return undefined;
  const params = { kind, slug: param(request, "slug") };
  const query = { host_id: param(request, "host"), limit: "20" };
  return unlessHidden(api.page(request, callTo(listReports, { params, query })));
}

/**
 * Reads the newest kits that a host can open still, whether they were ended at the hub or not: that reaches no stick.
 * None where the key may not list them.
 */
async function kitsOf(api: Api, request: FastifyRequest, id: string | undefined): Promise<KitRecord[]> {
  if (id === undefined) return [];
  const query = { host_id: param(request, "host"), limit: "50" };
  const listed = await api.ask(request, callTo(listKits, { params: { id }, query }));
  return (listed?.items ?? []).filter(
    ({ ends_at: end, hosts }) =>
      Date.parse(end) > Date.now() &&
      hosts.some(({ host_id: host, removed_at: removed }) => host === query.host_id && removed === null),
  );
}

/** Takes a host out of service for a reason, or back without one. */
export const serveHost = targetScreen(async ({ api }, request, { kind, slug, id }) => {
  const host = param(request, "host");
  const body = { out_of_service: field(request, "out_of_service") ?? null };
  await api.call(request, callTo(routes.serveHost, { params: { id, host_id: host }, body }));
  return { goTo: pagePaths.host(kind, slug, host) };
});

export const forget =
  (kind: TargetKind): Screen =>
  async ({ api }, request) => {
    const [slug, id] = [param(request, "slug"), param(request, "host")];
    await api.call(request, fleetCall([routes.forgetProjectHost, routes.forgetTargetHost], { kind, slug }, id));
    return { goTo: pagePaths.fleet(kind, slug) };
  };
