import { hostname } from "node:os";
import { Option } from "clipanion";
import type { DeployOptions } from "../../lib/agent/deployment/deploy.ts";
import { usageError } from "../../lib/contract/errors.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { HubCommand } from "../hub/hub-options.ts";
import { limitOptions, limitsFrom } from "../shell/limit-options.ts";

/** The options that deploy-project, deploy-marketplace and watch share. */
export abstract class AgentCommand extends HubCommand {
  projectRoot = Option.String("--project-root", { description: "Folder to deploy into (default: the current one)" });
  hostId = Option.String("--host-id", {
    description: "This host's name in reports [SEALIFT_HOST_ID] (default: its hostname)",
  });
  supervisor = Option.String("--supervisor", {
    description: "What runs the plugins: none, runtime, systemd, docker or kubernetes (default: none)",
  });
  supervisorName = Option.String("--supervisor-name", {
    description: "Name of units, containers or deployments; <id> is the plugin (default: sealift-plugin-<id>)",
  });
  systemdScope = Option.String("--systemd-scope", { description: "system or user (default: system)" });
  k8sNamespace = Option.String("--k8s-namespace", { description: "Kubernetes namespace" });
  k8sContext = Option.String("--k8s-context", { description: "Kubernetes context" });
  runtimeUrl = Option.String("--runtime-url", { description: "Root of the runtime (default: http://127.0.0.1:8000)" });
  pluginKey = Option.String("--plugin-key", {
    description: "The runtime's plugin key; safer as [SEALIFT_PLUGIN_KEY] or --plugin-key-file",
  });
  pluginKeyFile = Option.String("--plugin-key-file", { description: "File with the plugin key; - is standard input" });
  pluginSecretKey = Option.String("--plugin-secret-key", {
    description:
      "Sign trusted plugins with this key (plugin.sig); safer as [SEALIFT_PLUGIN_SECRET_KEY] or --plugin-secret-key-file",
  });
  pluginSecretKeyFile = Option.String("--plugin-secret-key-file", {
    description: "File with that key; - is standard input",
  });
  provisionersConfig = Option.String("--provisioners-config", {
    description: "provisioners.yaml: what `provision` steps run",
  });
  notifiersConfig = Option.String("--notifiers-config", { description: "notifiers.yaml: what `notify` steps run" });
  keepReleases = Option.String("--keep-releases", {
    description: "Releases to keep, the running one included (default: 3)",
  });
  keepReports = Option.String("--keep-reports", {
    description: "Reports to keep as files; older ones are archived (default: 1000)",
  });
  allowDowngrade = Option.Boolean("--allow-downgrade", { description: "Follow `latest` to a lower version" });
  lockWait = Option.String("--lock-wait", {
    description: "How long to wait for another deployment in this folder (default: 10m)",
  });
  maxEntries = limitOptions.maxEntries();
  maxEntrySize = limitOptions.maxEntrySize();
  maxTotalSize = limitOptions.maxTotalSize();
  maxRatio = limitOptions.maxRatio();
  maxDepth = limitOptions.maxDepth();
  maxNameLength = limitOptions.maxNameLength();
}

/** The agent's options, read and checked before anything is requested. @throws UsageError */
export async function agentOptions(settings: Settings): Promise<DeployOptions> {
  const { hostId } = await import("../../lib/contract/identifiers.ts");
  const name = settings.text("host-id") ?? hostname();
  const host = hostId.safeParse(name);
  if (!host.success) throw usageError("usage", `--host-id ${JSON.stringify(name)} ${host.error.issues[0]!.message}.`);
  const pluginSecretKey = settings.secret("plugin-secret-key");
  return {
    ...(pluginSecretKey !== undefined && { pluginSecretKey }),
    projectRoot: settings.text("project-root") ?? ".",
    hostId: host.data,
    supervisor: await supervisorFrom(settings),
    ...(await operatorCommands(settings)),
    limits: limitsFrom(settings),
    keepReleases: settings.integer("keep-releases", 3, { min: 1 }),
    keepReports: settings.integer("keep-reports", 1000, { min: 1 }),
    allowDowngrade: settings.flag("allow-downgrade"),
    lockWaitMs: settings.duration("lock-wait", 600_000),
  };
}

async function operatorCommands(settings: Settings): Promise<Pick<DeployOptions, "provisioners" | "notifiers">> {
  const provisionersFile = settings.text("provisioners-config");
  const notifiersFile = settings.text("notifiers-config");
  if (provisionersFile === undefined && notifiersFile === undefined) return {};
  const [{ readYamlFile }, { provisioners, notifiers }] = await Promise.all([
    import("../../lib/support/yaml-file.ts"),
    import("../../lib/contract/files/install-plan.ts"),
  ]);
  return {
    ...(provisionersFile !== undefined && { provisioners: await readYamlFile(provisionersFile, provisioners) }),
    ...(notifiersFile !== undefined && { notifiers: await readYamlFile(notifiersFile, notifiers) }),
  };
}

async function supervisorFrom(settings: Settings): Promise<DeployOptions["supervisor"]> {
  const name = settings.choice("supervisor", ["none", "runtime", "systemd", "docker", "kubernetes"], "none");
  const template = settings.text("supervisor-name");
  switch (name) {
    case "none":
      return { name };
    case "systemd": {
      const { systemdSupervisor } = await import("../../lib/agent/supervisors/systemd.ts");
      const scope = settings.choice("systemd-scope", ["system", "user"], "system");
      return {
        name,
        make: () => systemdSupervisor({ scope, ...(template !== undefined && { unitTemplate: template }) }),
      };
    }
    case "docker": {
      const { dockerSupervisor } = await import("../../lib/agent/supervisors/docker.ts");
      return { name, make: () => dockerSupervisor(template === undefined ? {} : { containerTemplate: template }) };
    }
    case "kubernetes": {
      const { kubernetesSupervisor } = await import("../../lib/agent/supervisors/kubernetes.ts");
      const namespace = settings.text("k8s-namespace");
      const context = settings.text("k8s-context");
      const options = {
        ...(template !== undefined && { deploymentTemplate: template }),
        ...(namespace !== undefined && { namespace }),
        ...(context !== undefined && { context }),
      };
      return { name, make: () => kubernetesSupervisor(options) };
    }
    case "runtime": {
      const { runtimeSupervisor } = await import("../../lib/agent/supervisors/runtime.ts");
      const options = {
        runtimeUrl: settings.text("runtime-url") ?? "http://127.0.0.1:8000",
        pluginKey: settings.requiredSecret("plugin-key"),
        timeoutMs: settings.duration("timeout", 60_000),
      };
      return { name, make: (installed) => runtimeSupervisor(options, installed) };
    }
  }
}
