import {
  artifactError,
  deploymentError,
  type ErrorFacts,
  type SealiftError,
  usageError,
} from "../../contract/errors.ts";
import type { InstallPlan, InstallStep } from "../../contract/files/install-plan.ts";
import { isApplication, type Item } from "../../releases/layout.ts";
import { printableJson } from "../../support/printable.ts";

/**
 * Origin of a plan, which decides the kind of its errors: usage for the operator's own file, an artifact error for a
 * signed member.
 */
export type PlanOrigin = "artifact" | "local";

/** Names that a plan may use. */
export interface PlanScope {
  projectId: string;
  plugins: ReadonlySet<string>;
  extensions: ReadonlySet<string>;
  /** Only projects have applications. */
  apps?: ReadonlySet<string>;
}

const SUPERVISED = new Set<InstallStep["action"]>(["start", "stop", "restart", "healthcheck"]);
const AFTER_SWITCH = new Set<InstallStep["action"]>(["start", "restart", "healthcheck"]);
const INSTALLS = new Set<InstallStep["action"]>(["install_plugin", "install_extension", "install_app"]);
const FILLS_STAGING = new Set<InstallStep["action"]>([
  "prepare",
  "download",
  "extract",
  "configure_plugin",
  "provision",
  "install_plugin",
  "install_extension",
  "install_app",
  "write_env",
]);

/** Step in the event `steps.planned`. */
export interface PlannedStep {
  id: string;
  action: InstallStep["action"];
  after_switch: boolean;
}

/** Plan in execution order. */
export interface OrderedPlan {
  /** Steps in staging, before the switch. */
  fill: InstallStep[];
  /** `stop` steps that run just before the switch. */
  stop: InstallStep[];
  /** Steps after the switch. */
  after: InstallStep[];
}

/** Makes the errors of a plan of one origin. */
export const planError =
  (origin: PlanOrigin) =>
  (message: string, faults: string[] = []): SealiftError => {
    const facts: ErrorFacts = {
      faults,
      hint:
        origin === "local"
          ? "Correct the plan and try again."
          : "Ask the publisher to correct deployment/install.yaml.",
    };
    return origin === "local"
      ? usageError("config_invalid", message, facts)
      : artifactError("plan_invalid", message, facts);
  };

/** Describes a missing name. A plan of the operator may be meant for the other kind of target. */
function missingFrom(scope: PlanScope, { section, id }: Item, origin: PlanOrigin): string {
  if (section === "apps") return `application ${id}, which is not in the artifact: apps/${id}/app.yaml is missing`;
  const isPlugin = section === "plugins";
  const what = `${isPlugin ? "plugin" : "extension"} ${id}`;
  if (origin !== "local" || !scope[isPlugin ? "extensions" : "plugins"].has(id))
    return `${what}, which is not in the artifact`;
  const [is, wanted] = isPlugin ? ["service", "plugin"] : ["plugin", "service"];
  return `${what}, but the target is a ${is} (for a ${wanted}: --kind ${wanted})`;
}

/**
 * Validates a plan against its target and orders it: topologically, then as listed; staging, then stops, then the rest.
 *
 * @throws `plan_mismatch` for another project; `plan_invalid` (or `config_invalid`) with every fault: duplicate or
 *   unknown ids, a cycle, an unknown plugin, an install that depends on a start, restart or healthcheck
 */
export function orderPlan(plan: InstallPlan, scope: PlanScope, origin: PlanOrigin): OrderedPlan {
  if (plan.project_id !== scope.projectId) {
    const message = `The install plan belongs to ${printableJson(plan.project_id)}, not to ${scope.projectId}.`;
    const hint = "Nothing was installed. Use the plan of this target.";
    throw origin === "local"
      ? usageError("config_invalid", message, { hint })
      : artifactError("plan_mismatch", message, { hint });
  }
  const faults: string[] = [];
  const byId = new Map<string, InstallStep>();
  for (const step of plan.steps) {
    if (byId.has(step.id)) faults.push(`the step id ${step.id} is used twice`);
    byId.set(step.id, step);
  }
  const installed = new Set<string>();
  for (const step of plan.steps) {
    for (const id of step.depends_on)
      if (!byId.has(id)) faults.push(`step ${step.id} depends on ${id}, which is not a step`);
    const named = namedBy(step);
    if (named !== undefined && scope[named.section]?.has(named.id) !== true) {
      faults.push(`step ${step.id} names the ${missingFrom(scope, named, origin)}`);
    }
    if (INSTALLS.has(step.action)) {
      const key = `${named!.section}/${named!.id}`;
      if (installed.has(key)) faults.push(`step ${step.id} installs ${named!.id} a second time`);
      installed.add(key);
    }
  }
  const sorted = faults.length === 0 ? topological(plan.steps, byId, faults) : [];
  const late = lateSteps(sorted, byId);
  for (const step of sorted) {
    if (FILLS_STAGING.has(step.action) && late.has(step.id)) {
      faults.push(
        `step ${step.id} (${step.action}) depends on a start, restart or healthcheck, which run after the switch`,
      );
    }
  }
  if (faults.length > 0) throw planError(origin)(`The install plan is not valid: ${faults.join("; ")}.`, faults);

  const lastFill = sorted.findLastIndex((step) => FILLS_STAGING.has(step.action));
  const ordered: OrderedPlan = { fill: [], stop: [], after: [] };
  sorted.forEach((step, index) => {
    if (late.has(step.id) || index > lastFill) ordered.after.push(step);
    else if (step.action === "stop") ordered.stop.push(step);
    else ordered.fill.push(step);
  });
  return ordered;
}

/** Returns the plugin, extension or application that a step names, if any. */
function namedBy(step: InstallStep): Item | undefined {
  if ("app" in step && step.app !== undefined) return { section: "apps", id: step.app };
  if ("extension" in step) return { section: "extensions", id: step.extension };
  if ("plugin" in step && step.plugin !== undefined) return { section: "plugins", id: step.plugin };
  return undefined;
}

/** Sorts depth first in listed order: dependencies come first, otherwise the order stays as written. */
function topological(
  steps: readonly InstallStep[],
  byId: ReadonlyMap<string, InstallStep>,
  faults: string[],
): InstallStep[] {
  const sorted: InstallStep[] = [];
  const state = new Map<string, "open" | "done">();
  const visit = (step: InstallStep, trail: readonly string[]): void => {
    if (state.get(step.id) === "done") return;
    if (state.get(step.id) === "open") {
      faults.push(
        `the steps ${[...trail.slice(trail.indexOf(step.id)), step.id].join(" → ")} depend on each other in a cycle`,
      );
      return;
    }
    state.set(step.id, "open");
    for (const id of step.depends_on) visit(byId.get(id)!, [...trail, step.id]);
    state.set(step.id, "done");
    sorted.push(step);
  };
  for (const step of steps) visit(step, []);
  return sorted;
}

/** Returns the steps that run after the switch: starts, restarts and healthchecks, and whatever depends on one. */
function lateSteps(sorted: readonly InstallStep[], byId: ReadonlyMap<string, InstallStep>): Set<string> {
  const late = new Set<string>();
  for (const step of sorted) {
    if (AFTER_SWITCH.has(step.action) || step.depends_on.some((id) => late.has(byId.get(id)!.id))) late.add(step.id);
  }
  return late;
}

/**
 * Rejects steps that need a supervisor where there is none (docs/contract/install-plan.md).
 *
 * @throws `needs_supervisor`
 */
export function checkSupervised(plan: Pick<InstallPlan, "steps">, supervisor: string, origin: PlanOrigin): void {
  const step = plan.steps.find(({ action }) => SUPERVISED.has(action));
  if (supervisor !== "none" || step === undefined) return;
  const message = `The install plan's step ${step.id} (${step.action}) needs a supervisor, and --supervisor is none.`;
  const hint = "Choose one with --supervisor runtime, systemd or docker.";
  throw origin === "local"
    ? usageError("needs_supervisor", message, { hint })
    : deploymentError("needs_supervisor", message, { hint });
}

/**
 * Returns a warning for a plan that installs something without telling its supervisor, or that checks something without
 * restarting it first: the check would see the previous version.
 *
 * @param plan an ordered plan
 */
export function unnoticed({ fill, stop, after }: OrderedPlan): string | undefined {
  // Applications are restarted without a step.
  if (plannedItems({ fill }).every(isApplication)) return undefined;
  const restarted = new Set<string | null>();
  for (const step of after) {
    if (step.action === "start" || step.action === "restart") restarted.add(step.plugin ?? null);
    if (step.action !== "healthcheck" || restarted.has(null)) continue;
    const { plugin } = step;
    if (plugin === undefined ? restarted.size > 0 : restarted.has(plugin)) continue;
    return (
      `The step ${step.id} checks ${plugin ?? "the project"}, and no step before it starts or restarts that: ` +
      "what still runs is the version before. Add a restart step before it."
    );
  }
  if (restarted.size > 0 || stop.length > 0 || after.some(({ action }) => action === "stop")) return undefined;
  return (
    "The plan has no start or restart step, so its supervisor is not told of this release: " +
    "what runs goes on unchanged until something else restarts it. Add a restart step to the plan."
  );
}

/** Returns the steps as announced before the first one runs. */
export function plannedSteps({ fill, stop, after }: OrderedPlan): PlannedStep[] {
  const named = (steps: readonly InstallStep[], afterSwitch: boolean): PlannedStep[] =>
    steps.map(({ id, action }) => ({ id, action, after_switch: afterSwitch }));
  return [...named([...fill, ...stop], false), ...named(after, true)];
}

/** Returns the items that the plan installs. */
export const plannedItems = ({ fill }: Pick<OrderedPlan, "fill">): Item[] =>
  fill.flatMap((step) => (INSTALLS.has(step.action) ? [namedBy(step)!] : []));
