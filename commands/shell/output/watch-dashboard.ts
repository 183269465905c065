import { resolve } from "node:path";
import { readReports } from "../../../lib/agent/reports/report.ts";
import type { EmitWatch } from "../../../lib/agent/watch/events.ts";
import { Watch } from "../../../lib/agent/watch/watch.ts";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { showWatch, type Terminal } from "../../../lib/tui/show.tsx";
import { DashboardStore, type PastDeployment } from "../../../lib/tui/watch-model.ts";
import type { WatchedDefinition } from "../../deploying/watch-targets.ts";
import { interruptible } from "../base.ts";
import { endWithTerminal } from "./terminal.ts";

/** Reports of earlier runs that each target's history starts with. */
const PAST_REPORTS = 20;

/** Makes a watch follow its current configuration; it never rejects. */
type Reload = (
  watch: Watch,
  emit: EmitWatch,
  take: (definitions: readonly WatchedDefinition[]) => void,
) => Promise<void>;

/**
 * Watches with the dashboard until somebody quits or the terminal closes.
 *
 * @param acting whether keys act on targets
 * @param observe called with every event
 * @param reload reads the configuration again, and calls `take` with it
 * @returns how many deployments there were, and how many failed
 */
export async function watchDashboard(
  definitions: readonly WatchedDefinition[],
  terminal: Terminal,
  { acting, observe = () => {}, reload }: { acting: boolean; observe?: EmitWatch | undefined; reload: Reload },
): Promise<{ deployments: number; failed: number }> {
  const store = new DashboardStore(await pastDeployments(definitions));
  using interrupt = interruptible();
  const stop = new AbortController();
  const ended = { deployments: 0, failed: 0 };
  const emit: EmitWatch = (event) => {
    if (event.event === "deploy.done") {
      ended.deployments++;
      if (event.code !== null) ended.failed++;
    }
    // A running version that no deployment here explains: a rollback or a deployment by hand.
    const isNews =
      event.event === "check.done" && store.model.targets.get(event.target)?.running !== event.running_version;
    if (isNews) void relearn(event.target);
    store.emit(event);
    observe(event);
  };
  const watch = new Watch(definitions, emit);
  const fleets = new Map<string, NonNullable<WatchedDefinition["fleet"]>>();
  const logs = new Map<string, WatchedDefinition["log"]>();
  let current = definitions;
  const relearn = async (target: string): Promise<void> => {
    const past = await pastDeployments(current.filter(({ name }) => name === target)).catch(() => undefined);
    if (past !== undefined) store.relearn(target, past);
  };
  const take = (defined: readonly WatchedDefinition[]): void => {
    current = defined;
    for (const { name, fleet, log } of defined) {
      if (fleet !== undefined) fleets.set(name, fleet);
      logs.set(name, log);
    }
  };
  take(definitions);
  using _terminal = endWithTerminal(stop, terminal, () => void reload(watch, emit, take));
  const picture = showWatch(
    {
      ...{ store, fleets, logs, acting },
      act: (target, action) => void (action === "rollback" ? watch.goBack(target) : watch.act(target, action)),
      quit: () => stop.abort(),
    },
    terminal,
  );
  try {
    await watch.run(AbortSignal.any([interrupt.signal, stop.signal]));
  } finally {
    picture.unmount();
    await picture.waitUntilExit();
  }
  return ended;
}

async function pastDeployments(definitions: readonly WatchedDefinition[]): Promise<PastDeployment[]> {
  const past = await Promise.all(
    definitions.map(async ({ name, source, options }) => {
      const reports = await readReports(layoutOf(resolve(options.projectRoot)), source("latest").target, PAST_REPORTS);
      return reports.map((report) => pastOf(name, report));
    }),
  );
  return past.flat();
}

function pastOf(target: string, report: LocalReport): PastDeployment {
  const at = Date.parse(report.completed_at);
  return {
    target,
    at,
    version: report.resolved_version,
    status: report.status === "success" && report.requested_version === "previous" ? "went_back" : report.status,
    durationMs: at - Date.parse(report.started_at),
    code: report.code,
    message: report.error_message,
  };
}
