import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Connections } from "./connections.ts";

/**
 * Listeners per address. Node accepts one connection per listener in each turn of the event loop; with a single one,
 * new agents waited for up to 19 s while connected ones were answered in 0.4 s.
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

/** Requires a free port: listeners that share it would not notice that it is taken. @throws Error `EADDRINUSE` */
async function refuseTaken(address: Address): Promise<void> {
  const server = createServer();
  await listen(server, address);
  server.close();
  await once(server, "close");
}

/** Returns a listener that hands each connection to another server, as if that had accepted it. */
function helperOf(server: HttpServer): Server {
  const helper = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit("connection", socket));
  // An error while accepting ends no established connection.
  return helper.on("error", () => {});
}

/** Lets an app accept several connections in each turn of the event loop, where the system can share a port. */
export class WideListener implements AsyncDisposable {
  readonly #app: FastifyInstance;
  readonly #helpers: Server[] = [];

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  /** Starts listening. @returns the URL of the address */
  async listen(address: Address): Promise<string> {
    if (process.platform !== "linux") return await this.#app.listen(address);
    // With port 0 the system chooses a free one.
    if (address.port !== 0) await refuseTaken(address);
    const shared = { ...address, reusePort: true };
    // Fastify passes all options on to Node, but its types know fewer.
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

/** Interval of closing connections that became idle while draining, in milliseconds. */
const IDLE_SWEEP_MS = 50;

/** Stops accepting, lets requests in flight end, and closes the rest after `timeoutMs`. */
export async function drain(
  { app, listener, connections }: { app: FastifyInstance; listener: AsyncDisposable; connections: Connections },
  timeoutMs: number,
): Promise<void> {
  const impatience = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
  // A connection whose request ended after closing began would stay open for its keep-alive time.
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
