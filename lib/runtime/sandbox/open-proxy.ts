import http from "node:http";
import type { InstanceOptions } from "../base/instance.ts";
import { RateLimit } from "../base/rate-limit.ts";
import { sandboxUser } from "../base/user.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { Destinations } from "../network/destinations.ts";
import { NetworkProxy } from "../network/proxy.ts";
import type { SandboxSetting } from "./sandbox-setting.ts";

/** Limit on logged refusals; all are counted. */
const LOGGED = { calls: 20, period_seconds: 60 };

/**
 * Opens the proxy of a plugin whose network is granted by name.
 * @returns nothing for other plugins
 * @throws RuntimeFault `sandbox_unavailable`
 */
export async function openProxy(
  { descriptor, logger, observer }: InstanceOptions,
  { network, wall, limits }: SandboxSetting,
): Promise<NetworkProxy | undefined> {
  if (network.kind !== "names") return undefined;
  if (wall?.ownNetwork !== true) {
    throw new RuntimeFault(
      "sandbox_unavailable",
      `${descriptor.name} is granted some hosts of the network, and only a wall can keep it from the others ` +
        `(${wall ? `${wall.name} cannot; bubblewrap can` : "see plugins.sandbox.wall"}), or grant network: true.`,
    );
  }
  // Node.js 25 has it from 25.4 on; by a named import, earlier ones would not even load this file.
  if (typeof (http.setGlobalProxyFromEnv as unknown) !== "function") {
    const advice = "run the runtime on Node 26 or newer, or grant network: true";
    throw new RuntimeFault("sandbox_unavailable", `Node ${process.versions.node} has no proxy of its own: ${advice}.`);
  }
  const logged = new RateLimit(LOGGED);
  return NetworkProxy.open({
    destinations: new Destinations(network.rules),
    user: sandboxUser(limits),
    onDenied: ({ host, message }) => {
      observer.denied(host);
      if (logged.take() === 0) logger.warn({ host }, `the network was refused: ${message}`);
    },
  });
}
