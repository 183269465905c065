import type { Integration } from "../contract/integration.ts";
import type { InstanceOptions, PluginInstance } from "./instance.ts";
import type { PluginSlot } from "./plugin-slot.ts";
import { MemorySampler } from "./sandbox/memory-sampler.ts";
import type { Reaper } from "./sandbox/reaper.ts";
import { SandboxInstance } from "./sandbox/sandbox-instance.ts";
import { type TokenVerifier, createTokenVerifier } from "./trusted/bearer-token.ts";
import { TrustedInstance } from "./trusted/trusted-instance.ts";
import type { Watchdog } from "./watchdog.ts";

export interface InstancesOptions {
  settings: Integration;
  root: string;
  prefix: string;
  watchdog: Watchdog;
  reaper: Reaper;
}

/** Makes instances of either mode from one configuration. */
export class Instances {
  readonly #options: InstancesOptions;
  readonly #verifyToken: TokenVerifier;
  readonly #sampler = new MemorySampler();

  private constructor(options: InstancesOptions, verifyToken: TokenVerifier) {
    this.#options = options;
    this.#verifyToken = verifyToken;
  }

  /** Reads the key files that bearer tokens are verified with. */
  static async create(options: InstancesOptions): Promise<Instances> {
    return new Instances(options, await createTokenVerifier(options.settings.auth.jwt, options.root));
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
        verifyToken: this.#verifyToken,
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
