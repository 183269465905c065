import { variableEnds } from "./address-variables.ts";
import { hostAndPort } from "./socket-address.ts";

/**
 * Properties of every program of an application. Units of systemd and `sealift app serve` are two ways to write them
 * (docs/contract/application.md#the-launch).
 */
export const LAUNCH = {
  /** Mask of the modes of new files. */
  umask: "0077",
  /** Mode of its data folder. */
  dataMode: 0o700,
  /** Folders in which it finds programs. */
  path: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  nodeEnv: "production",
  /** Largest core dump, in bytes: one would hold the settings. */
  coreBytes: 0,
  openFiles: 65_536,
  /** Score by which the kernel chooses whom it ends when memory is short: this, before whatever started it. */
  oomScoreAdjust: 500,
} as const;

/** Addresses of an application by their names, those of handed-over sockets first. */
export type Addresses = Readonly<Record<string, string>>;

/** Returns `PORT` and `HOST` of the first address, and those of each by its name: `PORT_METRICS`, `HOST_METRICS`. */
export function portVariables(addresses: Addresses): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, end] of variableEnds(Object.keys(addresses))) {
    const { host, port } = hostAndPort(addresses[name]!);
    variables[`PORT${end}`] = String(port);
    variables[`HOST${end}`] = host;
  }
  return variables;
}
