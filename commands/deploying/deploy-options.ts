import type { DeployOptions } from "../../lib/agent/deployment/run.ts";
import { DEFAULT_LIMITS, type Limits } from "../../lib/artifact/limits.ts";
import type { agent, supervision } from "../../lib/options/agent.ts";
import type { Layer } from "../../lib/options/layers.ts";
import type { Values } from "../../lib/options/option.ts";
import { settingsOf } from "./last-deployment.ts";

type AgentValues = Values<typeof agent>;

type SupervisorValues = Values<typeof supervision> & Pick<AgentValues, "timeoutMs">;

/**
 * The agent's options as a deployment takes them.
 *
 * @param layers where they were given
 * @throws UsageError when a file that they name is not valid
 */
export async function deployOptions(options: AgentValues, layers: readonly Layer[]): Promise<DeployOptions> {
  return {
    ...asGiven(options),
    supervisor: await supervisorFrom(options),
    settings: settingsOf(options, layers),
    ...(await operatorCommands(options)),
    policy: await policyOf(options),
    limits: limitsOf(options),
  };
}

const AS_GIVEN = [
  "projectRoot",
  "hostId",
  "keepReleases",
  "keepReports",
  "allowDowngrade",
  "acceptRights",
  "lockWaitMs",
  "deadlineMs",
  "durability",
  "allowForeignRoot",
  "templateEnv",
  "pluginSecretKey",
] as const;

/** Picks the options that a run takes as they were given; a command may have some of them. */
export const asGiven = <T extends object>(options: T) =>
  Object.fromEntries(AS_GIVEN.flatMap((key) => (key in options ? [[key, options[key as keyof T]]] : []))) as Pick<
    T,
    keyof T & (typeof AS_GIVEN)[number]
  >;

/** The limits among a command's options; one that it has no option for keeps its default. */
export function limitsOf(options: Partial<Limits>): Limits {
  const limits = { ...DEFAULT_LIMITS };
  for (const key of Object.keys(limits) as (keyof Limits)[]) limits[key] = options[key] ?? limits[key];
  return limits;
}

/** The rules that a version must meet; undefined without any. @throws UsageError `config_invalid` */
async function policyOf({ policy }: Pick<AgentValues, "policy">): Promise<DeployOptions["policy"]> {
  if (policy === undefined) return undefined;
  return (await import("../../lib/agent/policy/policy-file.ts")).readPolicy(policy);
}

/** The operator's programs. @throws UsageError when a file of them is not valid */
export async function operatorCommands(
  options: Partial<Pick<AgentValues, "provisionersConfig" | "notifiersConfig">>,
): Promise<Pick<DeployOptions, "provisioners" | "notifiers">> {
  const { provisionersConfig, notifiersConfig } = options;
  if (provisionersConfig === undefined && notifiersConfig === undefined) return { provisioners: {}, notifiers: {} };
  const [{ readYamlFile }, { provisioners, notifiers }] = await Promise.all([
    import("../../lib/support/yaml-file.ts"),
    import("../../lib/contract/files/install-plan.ts"),
  ]);
  return {
    provisioners: provisionersConfig === undefined ? {} : await readYamlFile(provisionersConfig, provisioners),
    notifiers: notifiersConfig === undefined ? {} : await readYamlFile(notifiersConfig, notifiers),
  };
}

/** Milliseconds that a silent runtime is waited for, when nothing else is said. */
const RUNTIME_TIMEOUT_MS = 60_000;

/** The supervisor that the options choose. */
export async function supervisorFrom(options: SupervisorValues): Promise<DeployOptions["supervisor"]> {
  const { supervisor: name, supervisorName: template } = options;
  switch (name) {
    case "none":
      return { name };
    case "systemd": {
      const { systemdSupervisor } = await import("../../lib/agent/supervisors/systemd.ts");
      return { name, make: () => systemdSupervisor({ template, scope: options.systemdScope }) };
    }
    case "docker": {
      const { dockerSupervisor } = await import("../../lib/agent/supervisors/docker.ts");
      return { name, make: () => dockerSupervisor({ template }) };
    }
    case "kubernetes": {
      const { kubernetesSupervisor } = await import("../../lib/agent/supervisors/kubernetes.ts");
      const { k8sNamespace: namespace, k8sContext: context } = options;
      return { name, make: () => kubernetesSupervisor({ template, namespace, context }) };
    }
    case "runtime": {
      const { runtimeSupervisor } = await import("../../lib/agent/supervisors/runtime.ts");
      const { runtimeUrl, pluginKey, timeoutMs = RUNTIME_TIMEOUT_MS } = options;
      return {
        name,
        make: (installed, isCurrent) =>
          runtimeSupervisor({ runtimeUrl, pluginKey: pluginKey!, timeoutMs }, installed, isCurrent),
      };
    }
  }
}
