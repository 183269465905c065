import type { DeployOptions } from "../../lib/agent/deployment/run.ts";
import type { agent, supervision } from "../../lib/options/agent.ts";
import type { Values } from "../../lib/options/option.ts";

type AgentValues = Values<typeof agent>;

type SupervisorValues = Values<typeof supervision> & Pick<AgentValues, "timeoutMs">;

/** Reads the operator's programs. @throws UsageError when a file of them is not valid */
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

/** Default time limit of a silent runtime, in milliseconds. */
const RUNTIME_TIMEOUT_MS = 60_000;

/** Returns the supervisor that the options choose. */
export async function supervisorFrom(options: SupervisorValues): Promise<DeployOptions["supervisor"]> {
  const { supervisor: name, supervisorName: template, staysUpMs, healthUrl } = options;
  const health = { staysUpMs, urls: new Map(healthUrl) };
  switch (name) {
    case "none":
      return { name };
    case "systemd": {
      const { systemdSupervisor } = await import("../../lib/agent/supervisors/systemd.ts");
      return { name, make: () => systemdSupervisor({ template, scope: options.systemdScope, ...health }) };
    }
    case "docker": {
      const { dockerSupervisor } = await import("../../lib/agent/supervisors/docker.ts");
      return { name, make: () => dockerSupervisor({ template, ...health }) };
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
