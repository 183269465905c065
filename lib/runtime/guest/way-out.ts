/** The path at which a sandbox finds the socket of the runtime's proxy. */
export const NETWORK_SOCKET = "/run/sealift/network";

/** Stands for that socket where a name is asked for. No name server knows it (RFC 6761, section 6.4). */
const PROXY_HOST = "sealift.invalid";

/**
 * Leads HTTP out of a sandbox whose network is granted by name. Node's own clients take a proxy by name and port only;
 * all of them connect through `net.connect`, so that is where the name becomes the socket.
 */
export function openWayOut(): void {
  // An `import` of this module makes Node load all that it exports, WebSocket with undici too: 50 ms of processor time.
  const { setGlobalProxyFromEnv } = process.getBuiltinModule("node:http");
  const net = process.getBuiltinModule("node:net");
  const { connect } = net;
  net.connect = ((...parameters: Parameters<typeof connect>) => {
    const [options] = parameters as unknown[];
    const isProxy = typeof options === "object" && options !== null && "host" in options && options.host === PROXY_HOST;
    if (isProxy) Object.assign(options, { path: NETWORK_SOCKET });
    return connect(...parameters);
  }) as typeof connect;
  const proxy = `http://${PROXY_HOST}`;
  setGlobalProxyFromEnv({ http_proxy: proxy, https_proxy: proxy });
}
