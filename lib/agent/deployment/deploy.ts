import type { SealiftError } from "../../contract/errors.ts";
import { Journal } from "../../releases/journal.ts";
import { condemns, quarantine } from "../../releases/quarantine.ts";
import type { Release } from "../../releases/release.ts";
import { traced } from "../../support/tracing/tracing.ts";
import type { Emit } from "../ground/events.ts";
import { sendReports } from "../reports/outbox.ts";
import type { Resolved, Source } from "../sources/source.ts";
import { admit, alreadyRuns } from "./admit.ts";
import { install } from "./install.ts";
import { endInterrupted } from "./interrupted.ts";
import { type Ending, perform, switchOver, unchanged } from "./pipeline.ts";
import { type DeployOptions, type DeployResult, errorOf, lockRoot, type Run } from "./run.ts";
import { stage } from "./stage.ts";

/**
 * One deployment, from any source: resolve → admit → stage → install → switch → settle (docs/contract/agent.md). It
 * never throws: whatever goes wrong is in the result and in the reports.
 */
export function deploy(source: Source, options: DeployOptions, listener: Emit): Promise<DeployResult> {
  return perform(source, options, listener, {
    name: "deploy",
    precheck: async () => source.precheck?.(options.supervisor.name),
    follow,
    afterwards: (run) => traced("report", {}, () => sendReports(run.layout, source, run)),
  });
}

async function follow(run: Run, previous: Release | undefined): Promise<Ending> {
  const { source, layout, options, emit, signal } = run;
  const runs = previous?.version ?? null;
  const resolved = await traced("resolve", {}, () => source.resolve({ emit, signal, running: runs }));
  emit({ event: "resolve.ok", version: resolved.version, running_version: runs });
  const running = await alreadyRuns(run, previous, resolved);
  if (running !== undefined) return unchanged(run, running);
  const admitted = await traced("admit", {}, () => admit(run, resolved, previous));
  await using staged = await traced("stage", {}, () => stage(run, admitted)).catch(async (thrown: unknown) => {
    await condemn(run, resolved, errorOf(run, thrown), false);
    throw thrown;
  });
  await staged.fetched.remember?.();
  // Some hubs name no identity before the download.
  const same = await alreadyRuns(run, previous, { version: resolved.version, identity: staged.fetched.identity });
  if (same !== undefined) return await unchanged(run, same);
  await using _root = await lockRoot(run);
  await endInterrupted(layout, options.supervisor, emit);
  const journal = await Journal.begin(layout, staged.attempt, previous?.name ?? null);
  return await switchOver(run, journal, previous, {
    prepare: () => traced("install", {}, () => install(run, staged, journal, previous)),
    condemn: (error, switched) => condemn(run, resolved, error, switched),
  });
}

/** Puts a version into quarantine for what it has done wrong itself. */
async function condemn(
  run: Run,
  { version, identity }: Resolved,
  error: SealiftError,
  switched: boolean,
): Promise<void> {
  if (error.ofTheHost === true || !condemns(error, switched)) return;
  const { code, message: reason } = error;
  const at = new Date().toISOString();
  await quarantine(run.layout, run.source.target, { version, identity, code, reason, at });
}
