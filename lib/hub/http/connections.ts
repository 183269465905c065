import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Descriptors } from "../../support/descriptors.ts";
import { HubError } from "../base/errors.ts";

/** File descriptors reserved for the database, the storage, the listeners and modules loaded later. */
const RESERVE = 96;
/** Fewest connections with which a hub is useful. */
const LEAST_CONNECTIONS = 8;
/** Share of a connection that one with an endless answer counts as: it sends and receives no file. */
const ENDLESS_PART = 1 / 2;
/** Share of all connections available to clients that have not shown a key yet. */
const STRANGERS_PART = 1 / 8;

/**
 * Returns the most connections that a process may have: each may need a second descriptor, for the file that it sends
 * or receives.
 *
 * @param databasePoolSize most connections to PostgreSQL
 */
export function mostConnections(known: Descriptors | undefined, databasePoolSize: number): number {
  if (known === undefined) return Infinity;
  return Math.max(LEAST_CONNECTIONS, Math.floor((known.limit - RESERVE - databasePoolSize) / 2));
}

interface Connection {
  /** Socket; with TLS the encrypted one, after its handshake. */
  socket: Socket;
  /** Whether a request on it has shown a valid key, session or download URL. */
  isVouched: boolean;
  /** Group that it belongs to. */
  group: Set<Connection>;
  /** Requests in flight. */
  readonly requests: Set<FastifyReply>;
  /** Replies that never end: a client may request several on one connection. */
  readonly endless: Set<FastifyReply>;
}

/** Connections of a hub, as `/readyz` and the metrics show them. */
export interface ConnectionNumbers {
  open: number;
  /** Connections that have shown a valid key. */
  vouched: number;
  /** Limit with the present endless answers; undefined without one. */
  most: number | undefined;
  /** Connections closed in favour of others. */
  shed: number;
}

/**
 * Limits the connections of a hub. Beyond the limit it closes the least important one: connections without a valid key
 * first, idle ones before busy ones, and those idle for longest first. A new client gets in as long as one connection
 * is idle.
 */
export class Connections {
  readonly #most: number;
  readonly #all = new Map<Socket, Connection>();
  /**
   * Connections with and without a valid key, idle and busy. Each set keeps the order in which connections joined it.
   */
  readonly #idleStrangers = new Set<Connection>();
  readonly #busyStrangers = new Set<Connection>();
  readonly #idleVouched = new Set<Connection>();
  readonly #busyVouched = new Set<Connection>();
  /** Connections in their TLS handshake, by client address. */
  readonly #shaking = new Map<string, Connection>();
  /** Connections that carry an endless answer now. */
  readonly #endless = new Set<Connection>();
  #shed = 0;
  /** Most simultaneous connections since the last reset. */
  peak = 0;

  constructor(most = Infinity) {
    this.#most = most;
  }

  get numbers(): ConnectionNumbers {
    return {
      open: this.#all.size,
      vouched: this.#idleVouched.size + this.#busyVouched.size,
      most: Number.isFinite(this.#most) ? Math.floor(this.#mostNow) : undefined,
      shed: this.#shed,
    };
  }

  /** Most endless answers when there are no other connections; undefined without a limit. */
  get mostEndless(): number | undefined {
    return Number.isFinite(this.#most) ? Math.floor(this.#most / ENDLESS_PART) : undefined;
  }

  /** Limit, counting each connection with an endless answer by half. */
  get #mostNow(): number {
    return this.#most + this.#endless.size * (1 - ENDLESS_PART);
  }

  /** Watches the connections of an app's server, and its requests. */
  attach(app: FastifyInstance): void {
    const { server } = app;
    const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
    const isEncrypted = server instanceof TlsServer;
    server.on("connection", (socket: Socket) => {
      const connection = this.#opened(socket);
      if (!isEncrypted) return;
      const name = nameOf(socket);
      this.#shaking.set(name, connection);
      socket.once("close", () => this.#shaking.delete(name));
    });
    server.on("secureConnection", (socket: Socket) => {
      const name = nameOf(socket);
      const connection = this.#shaking.get(name);
      this.#shaking.delete(name);
      if (connection === undefined || !this.#all.delete(connection.socket)) return;
      connection.socket = socket;
      this.#all.set(socket, connection);
    });
    app.addHook("onRequest", (request, reply, done) => {
      const connection = this.#all.get(request.raw.socket);
      if (connection === undefined) return done();
      if (request.routeOptions.config.isEndless === true) {
        connection.endless.add(reply);
        this.#endless.add(connection);
      }
      connection.requests.add(reply);
      this.#sort(connection);
      // Also when the client leaves before the answer is sent.
      reply.raw.once("close", () => {
        connection.endless.delete(reply);
        if (connection.endless.size === 0) this.#endless.delete(connection);
        connection.requests.delete(reply);
        this.#sort(connection);
      });
      done();
    });
  }

  /** Records that a request has shown a valid key, session or download URL. */
  vouch({ raw }: FastifyRequest): void {
    const connection = this.#all.get(raw.socket);
    if (connection === undefined || connection.isVouched) return;
    connection.isVouched = true;
    this.#sort(connection);
  }

  /** Yields the requests in flight, by connection. */
  *busy(): Generator<{ socket: Socket; reply: FastifyReply }> {
    for (const group of [this.#busyStrangers, this.#busyVouched])
      for (const { socket, requests } of group) for (const reply of requests) yield { socket, reply };
  }

  /** Closes the connections in their TLS handshake, which the server does not count as idle but waits for. */
  endHandshakes(): void {
    for (const { socket } of this.#shaking.values()) socket.destroy();
  }

  #opened(socket: Socket): Connection {
    const group = this.#idleStrangers;
    const connection: Connection = { socket, isVouched: false, group, requests: new Set(), endless: new Set() };
    this.#all.set(socket, connection);
    connection.group.add(connection);
    this.peak = Math.max(this.peak, this.#all.size);
    socket.once("close", () => this.#forget(connection));
    if (this.#all.size > this.#mostNow) this.#shedOne(connection);
    return connection;
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection.socket);
    connection.group.delete(connection);
    this.#endless.delete(connection);
  }

  /** Moves a connection to the end of its group. */
  #sort(connection: Connection): void {
    if (this.#all.get(connection.socket) !== connection) return;
    connection.group.delete(connection);
    const isBusy = connection.requests.size > 0;
    const [idle, busy] = connection.isVouched
      ? [this.#idleVouched, this.#busyVouched]
      : [this.#idleStrangers, this.#busyStrangers];
    connection.group = isBusy ? busy : idle;
    connection.group.add(connection);
  }

  #shedOne(newest: Connection): void {
    const victim = this.#leastMissed(newest);
    this.#forget(victim);
    this.#shed++;
    victim.socket.destroy();
  }

  #leastMissed(newest: Connection): Connection {
    const first = (group: Set<Connection>): Connection | undefined => {
      const [connection] = group;
      return connection === newest ? undefined : connection;
    };
    const strangers = this.#idleStrangers.size + this.#busyStrangers.size;
    // When a fleet holds all connections, its new clients need time to show their keys.
    const groups =
      strangers > this.#most * STRANGERS_PART
        ? [this.#idleStrangers, this.#busyStrangers, this.#idleVouched]
        : [this.#idleVouched, this.#idleStrangers, this.#busyStrangers];
    for (const group of groups) {
      const found = first(group);
      if (found !== undefined) return found;
    }
    return newest;
  }
}

/** Returns a signal that is aborted when the client leaves before it has its answer. */
export function untilLeft({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  raw.once("close", () => leaving.abort());
  return leaving.signal;
}

/** Returns the answer to a request whose body does not come, or too slowly. */
const tooSlow = (): HubError =>
  new HubError(408, "hub_unavailable", "The request's body came too slowly or stopped; send it again.", {
    headers: { connection: "close" },
  });

/** Answers a request early, and tells its handler that the rest of the body will not come. */
export function giveUp(reply: FastifyReply, error = tooSlow()): void {
  const { raw } = reply.request;
  if (reply.sent || reply.raw.headersSent) return void raw.destroy();
  // Node would leave the handler waiting for the body of a request that has been answered.
  reply.raw.once("finish", () => raw.destroy());
  void reply.send(error);
}
