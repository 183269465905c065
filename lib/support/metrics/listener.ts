import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { listening } from "../listening.ts";
import { within } from "../within.ts";

/** Time limit of a scrape, in milliseconds, whatever it measures. */
const SCRAPE_TIMEOUT_MS = 5000;
/** Most connections: scrapers are few, and further ones wait. */
const MAX_CONNECTIONS = 20;

export interface MetricsListener extends AsyncDisposable {
  /** Address of the page. */
  readonly url: string;
}

/**
 * Serves metrics as Prometheus text at `/metrics`, on a listener of their own: everybody who reaches it may read them.
 *
 * @param onFailure called for a scrape that failed
 * @throws UsageError `usage` for an address that cannot be listened on
 */
export async function serveMetrics({
  listen,
  registry,
  onFailure,
}: {
  listen: { host: string; port: number };
  registry: Registry;
  onFailure: (error: unknown) => void;
}): Promise<MetricsListener> {
  const answer = async ({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader("x-content-type-options", "nosniff");
    if (url?.split("?")[0] !== "/metrics") return void response.writeHead(404).end("Metrics are at /metrics.\n");
    if (method !== "GET" && method !== "HEAD") return void response.writeHead(405, { allow: "GET, HEAD" }).end();
    try {
      const text = await within(registry.metrics(), SCRAPE_TIMEOUT_MS, () => new Error("measuring took too long"));
      response.writeHead(200, { "content-type": registry.contentType, "cache-control": "no-store" }).end(text);
    } catch (error) {
      onFailure(error);
      response.writeHead(503).end("The metrics cannot be read now.\n");
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  server.maxConnections = MAX_CONNECTIONS;
  server.unref();
  const start = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(listen.port, listen.host, () => resolve());
    });
  await listening(start, "--metrics-listen");
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}/metrics`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
