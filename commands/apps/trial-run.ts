import type { TrialPlace } from "../../lib/agent/applications/trial-place.ts";
import { settles } from "../../lib/agent/supervisors/settling.ts";
import type { AppServeEvent, AppTestEvent } from "../../lib/apps/events.ts";
import { requireBoundSockets } from "../../lib/apps/kept-sockets.ts";
import { type Listening, listeningOf } from "../../lib/apps/listening.ts";
import { ManagedApplication } from "../../lib/apps/managed-application.ts";
import { controlGroups } from "../../lib/apps/serve.ts";
import { ServeFault } from "../../lib/apps/serve-fault.ts";
import { ServedChecks } from "../../lib/apps/served-checks.ts";
import { deploymentError, type SealiftError, usageError } from "../../lib/contract/errors.ts";
import type { Application } from "../../lib/contract/files/application.ts";
import { isJob } from "../../lib/contract/files/application-kinds.ts";
import { healthUrl } from "../../lib/releases/health-url.ts";
import { probe } from "../../lib/support/network/probe.ts";
import { runJob } from "./trial-job.ts";

/**
 * Runs an application once as a host would: migration, start, health, and its end. Leaves no process.
 *
 * @throws DeploymentError `migration_failed`, `port_taken` or `unhealthy`; UsageError `usage`
 */
export async function runTrial(
  id: string,
  app: Application,
  { layout, grants }: TrialPlace,
  { emit, signal }: { emit: (event: AppTestEvent) => void; signal: AbortSignal },
): Promise<void> {
  if (isJob(app)) {
    await runJob(id, layout, { emit, signal }).catch((fault: unknown) => {
      throw asError(fault);
    });
    return;
  }
  if (app.listen.length > 0) requireBoundSockets();
  let killed = false;
  const hear = (event: AppServeEvent): void => {
    if (event.event === "application.migrated") emit({ event: "trial.migrated", duration_ms: event.duration_ms });
    if (event.event === "application.stopped") killed = event.killed;
  };
  const found = await controlGroups(layout);
  const managed = new ManagedApplication(layout, id, hear, found);
  const checks = new ServedChecks(
    layout,
    () => found,
    () => managed,
  );
  const interrupt = (): void => void managed.close();
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    signal.throwIfAborted();
    await managed.start().catch((fault: unknown) => {
      signal.throwIfAborted();
      throw asError(fault);
    });
    const { pid, user, addresses } = managed.status;
    if (pid !== null) emit({ event: "trial.started", pid, user, addresses });
    const byCommand = app.health.command === undefined ? undefined : () => checks.ask(id, true);
    await mustSettle(managed, app, byCommand ?? healthUrl(grants, id, app), emit, signal);
    if (pid !== null)
      for (const notice of noticesOf(await listeningOf(pid), addresses)) emit({ event: "trial.listens", ...notice });
    const asked = performance.now();
    await managed.stop();
    const { signal: name, within } = app.stop;
    if (killed)
      throw deploymentError("unhealthy", `${id} did not end within ${within} s of ${name}, and was killed.`, {
        hint: "Have it end at that signal, or change `stop` of its app.yaml.",
      });
    emit({ event: "trial.stopped", signal: name, duration_ms: Math.round(performance.now() - asked) });
  } finally {
    signal.removeEventListener("abort", interrupt);
    await checks.end();
    await managed.close();
  }
}

/** Tells what an application's sockets and its `app.yaml` say differently. @param addresses given to it, by name */
function noticesOf(
  listening: readonly Listening[],
  addresses: Readonly<Record<string, string>>,
): { port: number; message: string }[] {
  const given = new Set(Object.values(addresses).map((address) => Number(new URL(`http://${address}`).port)));
  return listening.flatMap(({ port, isOpen }) => {
    const own = given.has(port);
    if (own && !isOpen) return [];
    const message = own
      ? `port ${port} of every address, which other machines reach: let it listen on HOST, too`
      : `port ${port}, which app.yaml does not name: add \`ports: [http]\`, and let it listen on PORT`;
    return [{ port, message }];
  });
}

/** Waits until the application is healthy and stays so. @throws DeploymentError `unhealthy` */
async function mustSettle(
  managed: ManagedApplication,
  app: Application,
  asked: URL | (() => Promise<string | null>) | undefined,
  emit: (event: AppTestEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const started = performance.now();
  let answered = started;
  const ask = async (limitMs?: number): Promise<string | undefined> => {
    const fault = asked instanceof URL ? await probe(asked, signal, limitMs) : ((await asked!()) ?? undefined);
    if (fault === undefined && answered === started) {
      answered = performance.now();
      emit({
        ...{ event: "trial.answered", url: asked instanceof URL ? asked.href : null },
        duration_ms: Math.round(answered - started),
      });
    }
    return fault;
  };
  const fault = await settles({
    sample: async () => {
      const { state, error, restarts } = managed.status;
      return state === "running" ? { restarts } : { fault: error ?? `it is ${state}`, restarts };
    },
    ask: asked && ask,
    isCostly: typeof asked === "function",
    withinMs: app.health.within * 1000,
    staysUpMs: app.health.stays_up * 1000,
    signal,
  });
  if (fault !== undefined) throw deploymentError("unhealthy", `${managed.id} is not healthy: ${fault}.`);
  emit({ event: "trial.stayed_up", duration_ms: Math.round(performance.now() - answered) });
}

/** Returns the error of a start that failed. */
function asError(thrown: unknown): unknown {
  if (!(thrown instanceof ServeFault)) return thrown;
  const { code, message } = thrown;
  if (code === "settings_invalid" || code === "not_granted") return usageError("usage", message, { cause: thrown });
  // The log is shown, and gone when anybody reads this.
  const said = message.replace(/; its output is in .*\.$/, ".");
  const ours: SealiftError["code"] = code === "migration_failed" || code === "port_taken" ? code : "unhealthy";
  return deploymentError(ours, said, { cause: thrown });
}
