import { connect } from "node:net";

/** Hosts that stand for every address of this machine, each with the one that is asked. */
const EVERY_ADDRESS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Returns the host at which whoever listens on an address is asked: a loopback one for every address. */
export const askedHost = (host: string): string => EVERY_ADDRESS[host] ?? host;

/** Time limit for a listener to take a connection, in milliseconds. */
const CONNECT_TIMEOUT_MS = 1_000;

/** Tells whether somebody takes connections on a port, within a second. */
export function isAnswered({ host, port }: { host: string; port: number }): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: askedHost(host), port, timeout: CONNECT_TIMEOUT_MS });
  socket.once("connect", () => resolve(true));
  socket.once("timeout", () => resolve(false));
  socket.once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
