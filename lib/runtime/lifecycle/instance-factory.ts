import type { Integration } from "../../contract/files/integration.ts";
import type { Inspect } from "../sandbox/launch.ts";
import type { MemorySampler } from "../sandbox/memory-sampler.ts";
import type { Reaper } from "../sandbox/reaper.ts";
import { SandboxInstance } from "../sandbox/sandbox-instance.ts";
import type { TokenVerifier } from "../trusted/bearer-token.ts";
import { TrustedInstance } from "../trusted/trusted-instance.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";
import type { InstanceFactory } from "./instance.ts";

/** What the instances of one runtime share. */
export interface FactoryOptions {
  settings: Integration;
  verifyToken: TokenVerifier;
  watchdog: Watchdog;
  reaper: Reaper;
  sampler: MemorySampler;
  inspect: Inspect | undefined;
}

/** Returns a function that makes instances of either mode from one configuration. */
export function instanceFactory({
  settings,
  verifyToken,
  watchdog,
  reaper,
  sampler,
  inspect,
}: FactoryOptions): InstanceFactory {
  const { plugins, services, app } = settings;
  const offered = {
    databases: Object.keys(services.databases),
    extensions: Object.keys(services.extensions),
  };
  const trusted = {
    ...offered,
    strict: plugins.strict_trusted,
    signatureKey: plugins.secret_key,
    verifyToken,
    prefix: app.plugin_prefix,
    bodyLimit: app.server.body_limit,
    startTimeoutMs: plugins.sandbox.start_seconds * 1000,
    guardOf: (plugin: string) => watchdog.guardOf(plugin),
  };
  const sandboxed = { ...offered, limits: plugins.sandbox, sampler, reaper, inspect };
  return (options, loader) => {
    const { name, network, execution_mode } = options.descriptor;
    if (execution_mode === "trusted") return TrustedInstance.load(options, trusted, loader);
    // The descriptor asks, the operator grants: it takes both.
    const networkGranted = network && plugins.grants[name]?.network === true;
    if (network && !networkGranted) {
      options.logger.warn(`the plugin asks for the network; plugins.grants.${name}.network does not grant it`);
    }
    return SandboxInstance.load(options, { ...sandboxed, networkGranted });
  };
}
