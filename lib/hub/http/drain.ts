import type { FastifyInstance } from "fastify";
import type { Connections } from "./connections.ts";

/** Connections that have become idle while draining are closed this often. */
const IDLE_SWEEP_MS = 50;

/** Stops accepting, lets what is in flight end, and cuts what has not ended after `timeoutMs`. */
export async function drain(
  { app, listener, connections }: { app: FastifyInstance; listener: AsyncDisposable; connections: Connections },
  timeoutMs: number,
): Promise<void> {
  const impatience = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
  // A connection whose request ended after the closing began would otherwise stay open for its keep-alive time.
  const sweeping = setInterval(() => {
    app.server.closeIdleConnections();
    connections.endHandshakes();
  }, IDLE_SWEEP_MS);
  try {
    await Promise.all([listener[Symbol.asyncDispose](), app.close()]);
  } finally {
    clearTimeout(impatience);
    clearInterval(sweeping);
  }
}
