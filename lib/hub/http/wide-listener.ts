import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Connections } from "./connections.ts";

/**
 * Several listeners of one address. Node accepts one connection of each in a turn of the event loop; with one listener,
 * new agents of a fleet waited for up to 19 s while connected ones were answered in 0.4 s.
 */
const LISTENERS = 16;

interface Address {
  host: string;
  port: number;
}

const listen = async (server: Server, address: Address & { reusePort?: boolean }): Promise<void> => {
  server.listen(address);
  await once(server, "listening");
};

/** @throws Error `EADDRINUSE`, which listeners that share their port with others would not see */
async function refuseTaken(address: Address): Promise<void> {
  const server = createServer();
  await listen(server, address);
  server.close();
  await once(server, "close");
}

/** Passes each connection on to a server, as if that had accepted it. */
function helperOf(server: HttpServer): Server {
  const helper = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit("connection", socket));
  // An error of accepting ends no connection that is there.
  return helper.on("error", () => {});
}

/** Lets an app accept several connections in each turn of the event loop, where the system can share a port. */
export class WideListener implements AsyncDisposable {
  readonly #app: FastifyInstance;
  readonly #helpers: Server[] = [];

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  /** @returns the URL of the address */
  async listen(address: Address): Promise<string> {
    if (process.platform !== "linux") return await this.#app.listen(address);
    // For port 0 the system chooses a free port.
    if (address.port !== 0) await refuseTaken(address);
    const shared = { ...address, reusePort: true };
    // Fastify passes all options on to Node, and its types know fewer.
    const url: string = await this.#app.listen(shared);
    const { port } = this.#app.server.address() as AddressInfo;
    for (let count = 1; count < LISTENERS; count++) {
      const helper = helperOf(this.#app.server);
      await listen(helper, { host: address.host, port, reusePort: true });
      this.#helpers.push(helper);
    }
    return url;
  }

  /** Stops accepting. Resolves when all connections are closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#helpers.splice(0).map(async (helper) => {
        helper.close();
        await once(helper, "close");
      }),
    );
  }
}

/** Time between two looks for connections that became idle while draining. */
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
