import { type InstallStep, unitOf } from "../../contract/files/install-plan.ts";
import { namedUnits, type Release } from "../../releases/release.ts";
import type { OrderedPlan } from "../base/plan.ts";
import type { SupervisorName } from "../supervisors/supervisor.ts";
import { pluginsAmong } from "./supervision.ts";

/** Unit of a plugin, or null for the project's own. */
type Unit = string | null;
type Steps = Pick<OrderedPlan, "stop" | "after">;

/** Default time limit of one check of a unit, in seconds; the next constant is the default number of retries. */
const CHECK_SECONDS = 30;
const CHECK_RETRIES = 3;

const COMMON = { depends_on: [], snapshot: false };

function supervised(action: "stop" | "restart" | "healthcheck", unit: Unit): InstallStep {
  const named = { id: `${action}-${unit ?? "project"}`, ...COMMON, ...(unit !== null && { plugin: unit }) };
  if (action !== "healthcheck") return { action, ...named };
  return { action, ...named, timeout: CHECK_SECONDS, retries: CHECK_RETRIES };
}

const unitsOf = (steps: readonly InstallStep[], ...actions: InstallStep["action"][]): Set<Unit> =>
  new Set(steps.filter(({ action }) => actions.includes(action)).map((step) => unitOf(step) ?? null));

/** Returns the steps of a release around its switch; an adopted folder has none. */
export const stepsOf = ({ steps = { stop: [], after: [] } }: Pick<Release, "steps">): Steps => steps;

/** Returns the units that a release's own steps leave stopped. */
function leftStopped({ stop, after }: Steps): Set<Unit> {
  const stopped = unitsOf(stop, "stop");
  for (const step of after) {
    if (step.action === "stop") stopped.add(step.plugin ?? null);
    if (step.action === "start" || step.action === "restart") stopped.delete(step.plugin ?? null);
  }
  return stopped;
}

/**
 * Returns the steps of a rollback: those of the release that it goes back to, plus a restart of every unit that
 * differs, a stop of units that only the other release has, and a health check of all that were started. A unit that
 * both releases leave stopped stays so, and so does an idle plugin that neither plan names.
 *
 * @param facts `changed`: whether a plugin differs between `to` and `from`; `idle`: plugins that do not run
 */
export function rollbackSteps(
  from: Release | undefined,
  to: Release,
  { changed, idle }: { changed: (plugin: string) => boolean; idle: ReadonlySet<Unit> },
  supervisor: SupervisorName,
): Steps {
  const own = stepsOf(to);
  if (supervisor === "none") return own;
  const [before, now] = [pluginsAmong(from?.items ?? []), pluginsAmong(to.items)];
  // A runtime knows every plugin, and nothing else; other supervisors know the units that a plan names.
  const isRuntime = supervisor === "runtime";
  const named = new Set([...(from === undefined ? [] : namedUnits(from)), ...namedUnits(to)]);
  const running = [...before, ...now].filter((plugin) => named.has(plugin) || !idle.has(plugin));
  const units = isRuntime ? new Set<Unit>(running) : named;
  const started = unitsOf(own.after, "start", "restart");
  const stopped = leftStopped(own);
  const stayStopped = from === undefined ? stopped : stopped.intersection(leftStopped(stepsOf(from)));

  const stops: InstallStep[] = [];
  const restarts: InstallStep[] = [];
  for (const unit of units) {
    const byProject = isRuntime && started.has(null) && now.includes(unit!);
    const isCovered = (started.has(unit) && !stopped.has(unit)) || byProject;
    if (isCovered || stayStopped.has(unit)) continue;
    if (unit !== null && !now.includes(unit)) {
      if (before.includes(unit) && !unitsOf(own.stop, "stop").has(unit)) stops.push(supervised("stop", unit));
    } else if (unit === null || changed(unit) || stopped.has(unit)) restarts.push(supervised("restart", unit));
  }
  // For a plan that stops a unit after the switch, only the steps after that stop last.
  const late = restarts.filter((step) => unitsOf(own.after, "stop").intersection(unitsOf([step], "restart")).size > 0);
  const early = restarts.filter((step) => !late.includes(step));
  const after = [...early, ...own.after, ...late];
  const checked = unitsOf(own.after, "healthcheck");
  const checks = [...unitsOf(after, "start", "restart")]
    .filter((unit) => !checked.has(unit) && !(isRuntime && checked.has(null)))
    .map((unit) => supervised("healthcheck", unit));
  return { stop: [...stops, ...own.stop], after: [...after, ...checks] };
}

/**
 * Says what runs on after a rollback without a supervisor.
 *
 * @param left release that the rollback leaves
 * @param hasApplications whether one of both has applications: the operator's grants name their supervisor
 */
export function notRestarted(left: Release | undefined, hasApplications: boolean): string | undefined {
  const version = left?.version ?? "what ran before";
  if (!hasApplications)
    return `No supervisor is chosen, so nothing is restarted: ${version} runs on until something restarts it.`;
  if (pluginsAmong(left?.items ?? []).length === 0) return undefined;
  return `No supervisor is chosen, so only applications are restarted: plugins of ${version} run on.`;
}
