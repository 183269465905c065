import type * as Http from "node:http";
import type { Duplex } from "node:stream";
import { refusedByProxy, tellOfProxy } from "./network-advice.ts";

/** Path at which a sandbox finds the socket of the runtime's proxy. */
export const NETWORK_SOCKET = "/run/sealift/network";

/** Placeholder for that socket where a host name is required; no name server knows it (RFC 6761, section 6.4). */
const PROXY_HOST = "sealift.invalid";

/** Options of Node's own agent (its documentation of `http.globalAgent`). */
const AGENT_OPTIONS: Http.AgentOptions = { keepAlive: true, scheduling: "lifo", timeout: 5000 };

/**
 * Routes HTTP out of a sandbox whose network is granted by name. Node's own clients take a proxy by name and port only;
 * all of them connect through `net.connect`, which is where the name is replaced by the socket.
 */
export function openWayOut(): void {
  tellOfProxy();
  // An `import` of this module makes Node load all that it exports, including WebSocket and undici: 50 ms of processor
  // time.
  const http = process.getBuiltinModule("node:http");
  const net = process.getBuiltinModule("node:net");
  const { connect } = net;
  net.connect = ((...parameters: Parameters<typeof connect>) => {
    const [options] = parameters as unknown[];
    const isProxy = typeof options === "object" && options !== null && "host" in options && options.host === PROXY_HOST;
    if (isProxy) Object.assign(options, { path: NETWORK_SOCKET });
    return connect(...parameters);
  }) as typeof connect;
  const proxy = `http://${PROXY_HOST}`;
  http.setGlobalProxyFromEnv({ http_proxy: proxy, https_proxy: proxy });
  http.globalAgent = tunnels(http);
}

/**
 * Makes an agent for `http://` whose connections are tunnels, like those of `https://`: the runtime then passes bytes
 * on, instead of reading and writing each request and answer.
 */
function tunnels({ Agent, request }: Pick<typeof Http, "Agent" | "request">): Http.Agent {
  // Without an agent of its own, the request for a tunnel would ask for a tunnel.
  const toProxy = new Agent();
  class Tunnels extends Agent {
    override createConnection(
      options: Http.ClientRequestArgs,
      connected: (error: Error | null, socket: Duplex) => void,
    ): Duplex | null | undefined {
      // A unix socket of the plugin's own bypasses the proxy.
      if (options.socketPath) return super.createConnection(options, connected);
      const { host, port } = options;
      const name = host?.includes(":") === true ? `[${host}]` : host;
      const asked = request({
        socketPath: NETWORK_SOCKET,
        method: "CONNECT",
        path: `${name}:${port ?? 80}`,
        headers: { host: `${name}:${port ?? 80}` },
        agent: toProxy,
      });
      const failed = (error: Error): void => connected(error, undefined as unknown as Duplex);
      asked.once("error", failed);
      asked.once("connect", ({ statusCode }, socket, head) => {
        if (statusCode === 200) {
          if (head.length > 0) socket.unshift(head);
          return connected(null, socket);
        }
        socket.destroy();
        const destination = `${name}:${port ?? 80}`;
        const answered = `The runtime's proxy answered ${statusCode} for ${destination}`;
        failed(new Error(statusCode === 403 ? `${answered}: ${refusedByProxy(destination)}` : `${answered}.`));
      });
      asked.end();
      return undefined;
    }
  }
  return new Tunnels(AGENT_OPTIONS);
}
