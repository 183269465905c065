import { type InstallPlan, installPlan } from "../../contract/files/install-plan.ts";
import { parseForeignYaml, parseYaml } from "../../support/yaml-file.ts";
import { planError, type PlanOrigin } from "./plan.ts";

/**
 * Parses `install.yaml` (docs/contract/install-plan.md); unknown keys are errors. @throws `plan_invalid`, or
 * `config_invalid` for a local file
 */
export function parsePlan(text: string, name: string, origin: PlanOrigin): InstallPlan {
  return parseYaml(text, installPlan, name, planError(origin));
}

/** The same for a plan that came with an artifact: nothing in it can stop this process. */
export function parseForeignPlan(text: string, name: string): Promise<InstallPlan> {
  return parseForeignYaml(text, installPlan, name, planError("artifact"));
}
