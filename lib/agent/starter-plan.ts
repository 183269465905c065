import { stringify } from "yaml";
import type { InstallPlan } from "../contract/files/install-plan.ts";
import { SCHEMA_COMMENT } from "../contract/files/json-schemas.ts";
import type { MarketplaceKind } from "../contract/surfaces/paths.ts";
import type { PlanScope } from "./deployment/plan.ts";

/**
 * The text of an install plan to start from (docs/contract/install-plan.md), with the comment that editors find its
 * schema by.
 */
export function starterPlan({
  slug,
  kind,
  supervised,
}: {
  slug: string;
  kind: MarketplaceKind;
  supervised: boolean;
}): string {
  const install =
    kind === "plugin"
      ? { id: "install", action: "install_plugin", plugin: slug }
      : { id: "install", action: "install_extension", extension: slug };
  const named = kind === "plugin" ? { plugin: slug } : {};
  const steps: object[] = [
    { id: "prepare", action: "prepare" },
    { ...install, depends_on: ["prepare"] },
  ];
  if (supervised) {
    steps.push({ id: "restart", action: "restart", ...named, depends_on: ["install"] });
    steps.push({ id: "check", action: "healthcheck", ...named, timeout: "30s", retries: 3, depends_on: ["restart"] });
  }
  const plan = { format_version: "1", project_id: slug, version: "1.0.0", steps };
  return `${SCHEMA_COMMENT("install")}\n${stringify(plan)}`;
}

/** The names that a checked plan may use: the given target, or, without one, whatever it names itself. */
export function scopeOf(plan: InstallPlan, slug: string | undefined, kind: MarketplaceKind): PlanScope {
  if (slug !== undefined) {
    return {
      projectId: slug,
      plugins: new Set(kind === "plugin" ? [slug] : []),
      extensions: new Set(kind === "service" ? [slug] : []),
    };
  }
  const plugins = plan.steps.flatMap((step) => ("plugin" in step && step.plugin !== undefined ? [step.plugin] : []));
  const extensions = plan.steps.flatMap((step) => ("extension" in step ? [step.extension] : []));
  return { projectId: plan.project_id, plugins: new Set(plugins), extensions: new Set(extensions) };
}
