import { chownSync, existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { SandboxUser } from "../base/user.ts";
import { messageOf } from "../guest/fault.ts";
import { Denied, type Destinations } from "./destinations.ts";

/**
 * Only exit of a sandbox whose network is granted by name: an HTTP proxy on a unix socket of the plugin's own.
 * `CONNECT` opens a tunnel, through which the plugin speaks TLS; plain requests are parsed and written again, so that
 * one is never taken for two.
 */

export interface ProxyOptions {
  destinations: Destinations;
  /** User who may connect besides the runtime's own. */
  user: SandboxUser | undefined;
  /** Called for every refusal. */
  onDenied(denied: Denied): void;
}

/** Most connections of one plugin at a time. */
const MAX_CONNECTIONS = 256;
const HEADERS_MS = 10_000;
const CONNECT_MS = 10_000;
/** Time after which an idle tunnel or request is closed, in milliseconds. */
const IDLE_MS = 5 * 60_000;

/** Hop-by-hop headers (RFC 9110, section 7.6.1), and the host, which is written again. */
const BETWEEN_NEIGHBOURS = new Set("connection host keep-alive te trailer transfer-encoding upgrade".split(" "));

const FOLDER = "sealift-net-";

/** Removes the folders of runtimes that were killed: each has the id of its process in its name. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const [pid = ""] = name.startsWith(FOLDER) ? name.slice(FOLDER.length).split("-") : [];
    if (!/^\d+$/.test(pid) || existsSync(`/proc/${pid}`)) continue;
    // Those of another user stay.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

export class NetworkProxy implements AsyncDisposable {
  readonly socket: string;
  readonly #folder: string;
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #tunnels = new Set<Duplex>();
  readonly #agent: Agent;

  private constructor(folder: string, options: ProxyOptions) {
    this.#folder = folder;
    this.socket = join(folder, "s");
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_MS, autoSelectFamily: true });
    this.#server = createServer({ headersTimeout: HEADERS_MS, requestTimeout: IDLE_MS, insecureHTTPParser: false });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("request", (incoming, answer) => this.#forward(incoming, answer));
    this.#server.on("connect", (incoming, socket, head) => this.#tunnel(incoming, socket, head));
    // Only CONNECT opens a tunnel, after its host and port were checked.
    this.#server.on("upgrade", (_incoming, socket) => socket.end("HTTP/1.1 501 Not Implemented\r\n\r\n"));
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** Opens the proxy of one plugin. @throws Error when the socket cannot be made */
  static async open(options: ProxyOptions): Promise<NetworkProxy> {
    await removeLeftovers();
    const folder = await mkdtemp(join(tmpdir(), `${FOLDER}${process.pid}-`));
    const proxy = new NetworkProxy(folder, options);
    try {
      await new Promise<void>((resolve, reject) => {
        proxy.#server.once("error", reject);
        proxy.#server.listen(proxy.socket, resolve);
      });
      await chmod(proxy.socket, 0o600);
      // Nobody else on this host may use what the plugin was granted.
      if (options.user) for (const path of [proxy.socket, folder]) chownSync(path, options.user.uid, options.user.gid);
      proxy.#server.unref();
      return proxy;
    } catch (error) {
      await proxy[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const tunnel of this.#tunnels) tunnel.destroy();
    this.#agent.destroy();
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#folder, { recursive: true, force: true });
  }

  #tunnel(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#tunnels.add(socket);
    socket.once("close", () => this.#tunnels.delete(socket));
    socket.on("error", () => socket.destroy());
    const refuse = (error: unknown): void => {
      socket.end(`HTTP/1.1 ${this.#statusOf(error)} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    };
    let upstream: Socket;
    try {
      upstream = this.#connect(this.#options.destinations.check(incoming.url ?? ""));
    } catch (error) {
      return refuse(error);
    }
    upstream.once("error", refuse);
    socket.once("close", () => upstream.destroy());
    upstream.once("connect", () => {
      upstream.off("error", refuse);
      upstream.on("error", () => socket.destroy());
      upstream.setTimeout(IDLE_MS, () => upstream.destroy());
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.write(head);
      // Either end may be the first to finish sending.
      upstream.pipe(socket);
      socket.pipe(upstream);
      upstream.once("close", () => socket.destroy());
    });
  }

  #connect({ host, port }: { host: string; port: number }): Socket {
    const { lookup } = this.#options.destinations;
    const upstream = connect({ host, port, lookup, autoSelectFamily: true, noDelay: true, allowHalfOpen: true });
    upstream.setTimeout(CONNECT_MS, () => upstream.destroy(new Error(`no connection within ${CONNECT_MS} ms`)));
    return upstream;
  }

  #forward(incoming: IncomingMessage, answer: ServerResponse): void {
    const fail = (error: unknown): void => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(this.#statusOf(error), { connection: "close" }).end(`${messageOf(error)}\n`);
    };
    const url = incoming.url?.startsWith("http://") === true ? URL.parse(incoming.url) : null;
    if (url === null || url.username !== "" || url.password !== "") {
      answer.writeHead(400, { connection: "close" }).end("This proxy takes http:// URLs and CONNECT.\n");
      return;
    }
    let outgoing: ClientRequest;
    try {
      outgoing = this.#request(incoming, url);
    } catch (error) {
      return fail(error);
    }
    outgoing.on("error", fail);
    outgoing.once("timeout", () => outgoing.destroy(new Error("nothing came")));
    outgoing.once("response", (response) => {
      response.on("error", fail);
      try {
        answer.writeHead(response.statusCode ?? 502, endToEnd(response));
      } catch (error) {
        // Node reads answers, such as one with the status 000, that it cannot write.
        outgoing.destroy();
        return fail(error);
      }
      response.pipe(answer);
    });
    outgoing.once("upgrade", (_response, socket) => {
      socket.destroy();
      fail(new Error("the host switched to another protocol, which nobody had asked for"));
    });
    answer.once("close", () => outgoing.destroy());
    // An answer may arrive before the whole request has been read.
    if (hasBody(incoming)) pipeline(incoming, outgoing).catch(() => undefined);
    else outgoing.end();
  }

  /** Sends a request on. @throws Denied */
  #request(incoming: IncomingMessage, url: URL): ClientRequest {
    const { check, lookup } = this.#options.destinations;
    const { host, port } = check(url.host, 80);
    // The name that was checked, whatever the plugin put into its header.
    const headers = [...endToEnd(incoming), "Host", url.host];
    // Without it, Node.js writes the body of a GET without marking its end: the next reader takes it for a request.
    if (incoming.headers["transfer-encoding"] !== undefined) headers.push("Transfer-Encoding", "chunked");
    const { method } = incoming;
    const path = url.pathname + url.search;
    return request({ host, port, method, path, headers, lookup, agent: this.#agent, timeout: IDLE_MS });
  }

  #statusOf(error: unknown): 403 | 502 {
    if (!(error instanceof Denied)) return 502;
    this.#options.onDenied(error);
    return 403;
  }
}

/** Whether a request has a body (RFC 9112, section 6). */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

/** Returns the headers of a message that are meant for its last reader, as names and values by turns. */
function endToEnd({ headers, rawHeaders }: IncomingMessage): string[] {
  const named = headers.connection?.toLowerCase().split(",");
  const kept: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [written = "", value = ""] = [rawHeaders[at], rawHeaders[at + 1]];
    const name = written.toLowerCase();
    if (BETWEEN_NEIGHBOURS.has(name) || name.startsWith("proxy-")) continue;
    if (named?.some((each) => each.trim() === name) !== true) kept.push(written, value);
  }
  return kept;
}
