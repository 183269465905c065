import type { Integration } from "../../contract/files/integration.ts";
import { MemorySampler } from "../sandbox/memory-sampler.ts";
import type { Reaper } from "../sandbox/reaper.ts";
import { SandboxInstance } from "../sandbox/sandbox-instance.ts";
import type { TokenVerifier } from "../trusted/bearer-token.ts";
import { TrustedInstance } from "../trusted/trusted-instance.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";
import type { InstanceOptions, PluginInstance } from "./instance.ts";
import type { PluginSlot } from "./plugin-slot.ts";

export interface InstancesOptions {
  settings: Integration;
  verifyToken: TokenVerifier;
  prefix: string;
  watchdog: Watchdog;
  reaper: Reaper;
}

/** Makes instances of either mode from one configuration. */
export class Instances {
  readonly #options: InstancesOptions;
  readonly #sampler = new MemorySampler();

  constructor(options: InstancesOptions) {
    this.#options = options;
  }

  make(options: InstanceOptions, slot: PluginSlot): Promise<PluginInstance> {
    const { settings, prefix, watchdog } = this.#options;
    const { plugins, services, app } = settings;
    const databases = Object.keys(services.databases);
    const extensions = Object.keys(services.extensions);
    const { name, network, execution_mode } = options.descriptor;
    if (execution_mode === "trusted") {
      const setting = {
        strict: plugins.strict_trusted,
        signatureKey: plugins.secret_key,
        verifyToken: this.#options.verifyToken,
        prefix,
        bodyLimit: app.server.body_limit,
        startTimeout: plugins.sandbox.start_seconds * 1000,
        databases,
        extensions,
        guardOf: (plugin: string) => watchdog.guardOf(plugin),
      };
      return TrustedInstance.load(options, setting, slot.loader);
    }
    // The descriptor asks, the operator grants: it takes both.
    const networkGranted = network && plugins.grants[name]?.network === true;
    if (network && !networkGranted) {
      options.logger.warn(`the plugin asks for the network; plugins.grants.${name}.network does not grant it`);
    }
    const setting = {
      limits: plugins.sandbox,
      networkGranted,
      sampler: this.#sampler,
      reaper: this.#options.reaper,
      databases,
      extensions,
    };
    return SandboxInstance.load(options, setting);
  }
}
