/** Servers that break the rules of HTTP, each in one way. Every client of the product is run against all of them. */
import { once } from "node:events";
import { globalAgent } from "node:http";
import { globalAgent as secureAgent } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { gzipSync } from "node:zlib";
import type { Test } from "tap";
import { within } from "../../lib/support/within.ts";
import type { Answer } from "./hub/scripted-server.ts";
import { until } from "./until.ts";

/** The address of odd servers, and that of a server which nobody may be sent to. */
const HERE = "127.0.0.1";
const ELSEWHERE = "127.0.0.2";

/** Milliseconds after which a connection is held to stay open: many, since a busy machine is slow. */
const CLOSED_MS = 15_000;

interface Asked {
  /** The first line of the request. */
  line: string;
  /** The place of the request on its connection, from 0. */
  count: number;
  /** The URL of a server at another address. */
  elsewhere: string;
}

/** Answers a request whose head has come. */
type Oddity = (socket: Socket, asked: Asked) => void;

const head = (...lines: string[]): string => ["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n");
const JSON_TYPE = "content-type: application/json";

/** Writes as fast as the other side reads, until it has gone. */
function forever(socket: Socket, bytes: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on("drain", more);
  more();
}

/** Writes a byte every 20 ms, until the other side has gone. */
function drips(socket: Socket, start: string, byte = "x"): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(byte), 20);
  socket.once("close", () => clearInterval(timer));
}

const redirect =
  (to: (asked: Asked) => string): Oddity =>
  (socket, asked) =>
    socket.write(`HTTP/1.1 307 Moved\r\nlocation: ${to(asked)}\r\ncontent-length: 0\r\n\r\n`);

const PLAIN = {
  "101": (socket) =>
    void socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
  "101 without a protocol": (socket) => void socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
  "a flood of 1xx": (socket) => forever(socket, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(100)),
  "1xx and silence": (socket) => void socket.write("HTTP/1.1 102 Processing\r\n\r\n"),
  silence: () => {},
  "an end before the head": (socket) => void socket.end(),
  "a reset before the head": (socket) => void socket.resetAndDestroy(),
  "half a head": (socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-le"),
  "half a head and silence": (socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-le"),
  "a head that drips": (socket) => drips(socket, "HTTP/1.1 200 OK\r\nx-slow: "),
  "an endless head": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    forever(socket, `x-more: ${"x".repeat(1000)}\r\n`.repeat(10));
  },
  "a head and silence": (socket) => void socket.write(head(JSON_TYPE, "content-length: 100")),
  "a body shorter than its length": (socket) => void socket.end(`${head(JSON_TYPE, "content-length: 100")}{}`),
  "a body longer than its length": (socket) => void socket.end(`${head(JSON_TYPE, "content-length: 2")}[{},{}]`),
  "two lengths": (socket) => void socket.write(`${head(JSON_TYPE, "content-length: 2", "content-length: 4")}{}  `),
  "a body that drips": (socket) => drips(socket, head(JSON_TYPE, "content-length: 1000000"), " "),
  "a body that stops": (socket) => void socket.write(`${head(JSON_TYPE, "content-length: 100")}{"a":`),
  "a body that is reset": (socket) =>
    void socket.write(`${head(JSON_TYPE, "content-length: 100")}{"a":`, () => socket.resetAndDestroy()),
  "an endless body": (socket) => {
    socket.write(head(JSON_TYPE, "transfer-encoding: chunked"));
    forever(socket, `4000\r\n${"x".repeat(0x4000)}\r\n`);
  },
  "gzip that nobody asked for": (socket) => {
    const body = gzipSync('{"unasked": true}');
    socket.write(head(JSON_TYPE, "content-encoding: gzip", `content-length: ${body.length}`));
    socket.write(body);
  },
  "a redirect to itself": redirect(({ line }) => line.split(" ")[1]!),
  "redirects without an end": redirect(({ count }) => `/?${count}-${Math.random()}`),
  "a redirect to another address": redirect(({ elsewhere }) => elsewhere),
  "two answers at once": (socket) =>
    void socket.write(`${head(JSON_TYPE, "content-length: 2")}{}${head(JSON_TYPE, "content-length: 6")}{"b":2}`),
} satisfies Record<string, Oddity>;

/** Oddities of a server that speaks TLS. */
const SECURE = { "a redirect down to http": redirect(({ elsewhere }) => elsewhere) } satisfies Record<string, Oddity>;

/** Answers the requests of one route of a scripted server by an oddity. */
export const oddAnswer =
  (name: keyof typeof PLAIN): Answer =>
  ({ socket }, { method, path }) =>
    PLAIN[name](socket!, { line: `${method} ${path}`, count: 0, elsewhere: `http://${ELSEWHERE}/` });

export type OddName = keyof typeof PLAIN | keyof typeof SECURE;
export const ODD_NAMES = [...Object.keys(PLAIN), ...Object.keys(SECURE)] as OddName[];

export interface OddServer {
  url: string;
  /** Requests whose heads have come. */
  requests: number;
  /** Resolves when a connection has come. */
  connected: Promise<void>;
  /** Resolves when so many requests have come. */
  until(count: number): Promise<void>;
  /** Connections to the server at another address. */
  strays: number;
  /** Resolves when no client has a connection open but for later requests. @throws Error after {@link CLOSED_MS} */
  closed(): Promise<void>;
}

/** Closes the connections of this process that serve no request. */
function closeIdle(): void {
  for (const agent of [globalAgent, secureAgent])
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
}

async function listen(t: Test, server: Server, host: string): Promise<{ port: number; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, "listening");
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** Starts a server with one oddity; it ends with the test. @param tls for those that need it */
export async function startOdd(t: Test, name: OddName, tls: { key: string; cert: string }): Promise<OddServer> {
  const oddity: Oddity = { ...PLAIN, ...SECURE }[name];
  const reached = Promise.withResolvers<void>();
  const other = await listen(
    t,
    createServer((socket) => {
      odd.strays++;
      socket.end(`${head(JSON_TYPE, "content-length: 2")}{}`);
    }),
    ELSEWHERE,
  );
  const elsewhere = `http://${ELSEWHERE}:${other.port}/`;
  const serve = (socket: Socket): void => {
    reached.resolve();
    let text = "";
    let count = 0;
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (!/^[A-Z]+ [^\r]*\r\n(?:[^\r]+\r\n)*\r\n/.test(text)) return;
      odd.requests++;
      oddity(socket, { line: text.split("\r\n")[0]!, count: count++, elsewhere });
      text = "";
    });
  };
  const isSecure = name in SECURE;
  const { port, sockets } = await listen(t, isSecure ? createTlsServer(tls, serve) : createServer(serve), HERE);
  const odd: OddServer = {
    url: `${isSecure ? "https" : "http"}://${HERE}:${port}`,
    requests: 0,
    connected: reached.promise,
    until: (count) => until(() => odd.requests >= count),
    strays: 0,
    closed() {
      closeIdle();
      const all = [...sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
      return within(
        Promise.all(all).then(() => {}),
        CLOSED_MS,
        () => new Error(`${all.length} connections are open`),
      );
    },
  };
  return odd;
}
