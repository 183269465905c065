import { instancesOf, type Integration } from "../../contract/files/integration.ts";
import type { ControlGroups } from "../../support/control-groups/control-group.ts";
import type { InstanceOptions, PermissionModel, PluginInstance } from "../base/instance.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { accessOf } from "../network/access.ts";
import type { TokenVerifier } from "../router/bearer-token.ts";
import type { Inspect } from "../sandbox/launch.ts";
import type { MemorySampler } from "../sandbox/memory-sampler.ts";
import type { Reaper } from "../sandbox/reaper.ts";
import { SandboxInstance } from "../sandbox/sandbox-instance.ts";
import type { ModuleLoader } from "../trusted/module-loader.ts";
import { TrustedInstance } from "../trusted/trusted-instance.ts";
import { type FoundWall, wallPolicyOf } from "../walls/find-wall.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";

/** Makes an instance of the mode that the descriptor names. @throws RuntimeFault with the reason that it cannot run */
export type InstanceFactory = (options: InstanceOptions, loader: ModuleLoader) => Promise<PluginInstance>;

/** Parts shared by the instances of one runtime. */
export interface FactoryOptions {
  settings: Integration;
  verifyToken: TokenVerifier;
  watchdog: Watchdog;
  reaper: Reaper;
  sampler: MemorySampler;
  inspect: Inspect | undefined;
  wall: FoundWall;
  groups: ControlGroups | undefined;
  permissionModel: PermissionModel;
}

/** Returns a function that makes instances of either mode from one configuration. */
export function instanceFactory({
  settings,
  verifyToken,
  watchdog,
  reaper,
  sampler,
  inspect,
  wall,
  groups,
  permissionModel,
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
  const sandboxed = {
    ...offered,
    ...{ limits: plugins.sandbox, sampler, reaper, inspect, permissionModel, groups },
    wall: wall.wall,
    ...{ verifyToken, prefix: app.plugin_prefix, bodyLimit: app.server.body_limit },
  };
  const wallIsMissing = wallPolicyOf(settings) === "required" && wall.wall === undefined && wall.waived !== true;
  return async (options, loader) => {
    const { name, network, execution_mode } = options.descriptor;
    if (execution_mode === "trusted") return TrustedInstance.load(options, trusted, loader);
    if (wallIsMissing) throw new RuntimeFault("sandbox_unavailable", noWallMessage(wall));
    // Both are needed: the descriptor's request and the operator's grant.
    const access = accessOf(network, plugins.grants[name]);
    if (network !== false && access.kind === "none" && permissionModel !== "audited") {
      options.logger.warn(`the plugin asks for the network; plugins.grants.${name}.network does not grant it`);
    }
    return SandboxInstance.load(options, {
      ...sandboxed,
      network: access,
      // A debugger attaches to one process.
      instances: inspect ? 1 : instancesOf(plugins, name),
    });
  };
}

const noWallMessage = (found: FoundWall): string =>
  `A sandboxed plugin needs a second wall here (plugins.sandbox.wall, or app.env: production): ` +
  `${found.wall ? "" : found.reason}. plugins.sandbox.wall: preferred does without.`;
