import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Descriptors } from "../../support/descriptors.ts";
import { HubError } from "../base/errors.ts";

/** Descriptors that connections leave to the database, the storage, the listeners and the modules that come late. */
const RESERVE = 96;
/** A hub with fewer connections is of no use. */
const LEAST_CONNECTIONS = 8;
/** The part of a connection that one with an endless answer counts as: it sends and receives no file. */
const ENDLESS_PART = 1 / 2;
/** The part of all connections that clients may have which have not shown a key yet. */
const STRANGERS_PART = 1 / 8;

/**
 * Returns how many connections a process may have: each of them may need a second descriptor, for the file that it
 * sends or receives.
 *
 * @param databasePoolSize most connections to PostgreSQL
 */
export function mostConnections(known: Descriptors | undefined, databasePoolSize: number): number {
  if (known === undefined) return Infinity;
  return Math.max(LEAST_CONNECTIONS, Math.floor((known.limit - RESERVE - databasePoolSize) / 2));
}

interface Connection {
  /** The socket; with TLS the encrypted one, once its handshake is done. */
  socket: Socket;
  /** Whether a request of it has shown a valid key, session or download URL. */
  isVouched: boolean;
  /** The group that it is in. */
  group: Set<Connection>;
  /** Requests in flight. */
  readonly requests: Set<FastifyReply>;
  /** Replies that never end: a client may ask for more than one on a connection. */
  readonly endless: Set<FastifyReply>;
}

/** The connections of a hub, as `/readyz` and the metrics show them. */
export interface ConnectionNumbers {
  open: number;
  /** Connections that have shown a valid key. */
  vouched: number;
  /** The bound, given the endless answers of now; undefined without one. */
  most: number | undefined;
  /** Connections that were closed in favour of others. */
  shed: number;
}

/**
 * Bounds the connections of a hub. Beyond the bound the one is closed that is missed least: connections that have
 * shown no valid key come first, idle ones before those with a request in flight, those that were idle longest before
 * the others. A new client gets in as long as one connection is idle.
 */
export class Connections {
  readonly #most: number;
  readonly #all = new Map<Socket, Connection>();
  /** Connections of strangers and of key holders, idle and busy. Each set keeps the order in which they joined it. */
  readonly #idleStrangers = new Set<Connection>();
  readonly #busyStrangers = new Set<Connection>();
  readonly #idleVouched = new Set<Connection>();
  readonly #busyVouched = new Set<Connection>();
  /** Connections whose TLS handshake is under way, by client address. */
  readonly #shaking = new Map<string, Connection>();
  /** Connections that carry an endless answer now. */
  readonly #endless = new Set<Connection>();
  #shed = 0;
  /** Most connections at one moment, since somebody has set it back. */
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

  /** Connections with an endless answer that there is room for beside no others; undefined without a bound. */
  get mostEndless(): number | undefined {
    return Number.isFinite(this.#most) ? Math.floor(this.#most / ENDLESS_PART) : undefined;
  }

  /** The bound, with the half that each connection with an endless answer leaves to others. */
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

  /** Remembers that a request has shown a valid key, session or download URL. */
  vouch({ raw }: FastifyRequest): void {
    const connection = this.#all.get(raw.socket);
    if (connection === undefined || connection.isVouched) return;
    connection.isVouched = true;
    this.#sort(connection);
  }

  /** The requests in flight, by connection. */
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
    // New clients of a fleet that has all connections must have time to show their keys.
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

/** Returns a signal that is aborted when a client leaves before it has its answer. */
export function untilLeft({ raw }: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  raw.once("close", () => leaving.abort());
  return leaving.signal;
}

/** The answer to a request whose body does not come, or not fast enough to be waited for. */
const tooSlow = (): HubError =>
  new HubError(408, "hub_unavailable", "The request's body came too slowly or stopped; send it again.", {
    headers: { connection: "close" },
  });

/** Answers a request that is still waited for. Its handler hears that the rest of its body will not come. */
export function giveUp(reply: FastifyReply, error = tooSlow()): void {
  const { raw } = reply.request;
  if (reply.sent || reply.raw.headersSent) return void raw.destroy();
  // Node would leave the handler waiting for a body whose request has been answered.
  reply.raw.once("finish", () => raw.destroy());
  void reply.send(error);
}
