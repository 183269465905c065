import type {
  Cache,
  Database,
  EventListener,
  Events,
  Extension,
  Logger,
  PluginContext,
  Services,
} from "../../sdk/context.ts";
import { messageOf } from "./fault.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** The plugin's way to the runtime: a function call for trusted plugins, a frame on the channel for sandboxed ones. */
export interface HostPort {
  /**
   * @param target `database:<name>`, `cache`, `extension:<name>`, `events:<event>` or `plugin:<name>`
   * @throws RuntimeFault, `permission_denied` among others
   */
  request(target: string, method: string, parameters: unknown[]): Promise<unknown>;
  log: (level: LogLevel, message: string, fields: Record<string, unknown> | undefined) => void;
}

export interface GuestFacts {
  name: string;
  version: string;
  config: Record<string, unknown>;
  env: Record<string, string>;
  dataDir: string;
  /** Names of what the configuration offers. */
  databases: string[];
  extensions: string[];
}

/** What a call adds to the plugin's context; the signal and the way out are made only when the action asks for them. */
export interface CallScope {
  signal(): AbortSignal;
  readonly requestId: string | undefined;
  port(): HostPort;
}

/** The listeners of one plugin instance; the runtime delivers to it, and forgets it as a whole. */
export class Listeners {
  readonly #byEvent = new Map<string, Set<EventListener>>();
  readonly #port: HostPort;

  constructor(port: HostPort) {
    this.#port = port;
  }

  add(event: string, listener: EventListener): () => void {
    const { log } = this.#port;
    const existing = this.#byEvent.get(event);
    const listeners = existing ?? new Set();
    if (existing === undefined) {
      this.#byEvent.set(event, listeners);
      this.#port.request(`events:${event}`, "listen", []).catch((error: unknown) => {
        log("error", `cannot listen to the event ${event}: ${messageOf(error)}`, undefined);
      });
    }
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  deliver(event: string, payload: unknown, source: string): void {
    for (const listener of this.#byEvent.get(event) ?? []) {
      void (async () => listener(payload, source))().catch((error: unknown) => {
        this.#port.log("error", `a listener of the event ${event} failed: ${messageOf(error)}`, undefined);
      });
    }
  }
}

function loggerTo(port: HostPort): Logger {
  return {
    debug: (message, fields) => port.log("debug", message, fields),
    info: (message, fields) => port.log("info", message, fields),
    warn: (message, fields) => port.log("warn", message, fields),
    error: (message, fields) => port.log("error", message, fields),
  };
}

function servicesThrough(port: HostPort, facts: GuestFacts): Services {
  const database = (name: string): Database => ({
    query: async (sql, parameters = []) =>
      (await port.request(`database:${name}`, "query", [sql, parameters])) as never,
    execute: async (sql, parameters = []) =>
      (await port.request(`database:${name}`, "execute", [sql, parameters])) as never,
  });
  const cache: Cache = {
    get: async (key) => ((await port.request("cache", "get", [key])) ?? null) as never,
    set: async (key, value, ttlSeconds) => {
      await port.request("cache", "set", ttlSeconds === undefined ? [key, value] : [key, value, ttlSeconds]);
    },
    delete: async (key) => (await port.request("cache", "delete", [key])) === true,
  };
  // Methods are asked for by name: only the runtime knows what an extension offers.
  const extension = (name: string): Extension =>
    new Proxy(
      {},
      {
        get: (_target, method) =>
          // `then` stays undefined, so that an extension can be returned from an async function.
          typeof method === "string" && method !== "then"
            ? (...parameters: unknown[]) => port.request(`extension:${name}`, method, parameters)
            : undefined,
      },
    );
  return {
    databases: Object.fromEntries(facts.databases.map((name) => [name, database(name)])),
    cache,
    extensions: Object.fromEntries(facts.extensions.map((name) => [name, extension(name)])),
  };
}

/** Builds a plugin's context and, from it, that of each call. */
export class ContextFactory {
  readonly base: PluginContext;
  readonly facts: GuestFacts;
  readonly listeners: Listeners;
  readonly #unloaded = new AbortController();
  readonly #CallContext: new (call: CallScope) => PluginContext;

  constructor(facts: GuestFacts, port: HostPort) {
    this.facts = facts;
    this.listeners = new Listeners(port);
    const { listeners } = this;
    const events: Events = {
      emit: async (event, payload) => {
        await port.request(`events:${event}`, "emit", [payload]);
      },
      on: (event, listener) => listeners.add(event, listener as EventListener),
    };
    this.base = {
      plugin: { name: facts.name, version: facts.version },
      config: facts.config,
      env: facts.env,
      logger: loggerTo(port),
      services: servicesThrough(port, facts),
      events,
      dataDir: facts.dataDir,
      signal: this.#unloaded.signal,
      requestId: undefined,
      call: async (plugin, action, payload) => (await port.request(`plugin:${plugin}`, action, [payload])) as never,
    };
    this.#CallContext = callContextClass(this.base);
  }

  forCall(call: CallScope): PluginContext {
    return new this.#CallContext(call);
  }

  /** Aborts the plugin's own signal. */
  unload(): void {
    this.#unloaded.abort();
  }
}

/** A class, because it is made for every call: its fields are the call's own, all else it inherits from the plugin's context. */
function callContextClass(base: PluginContext): new (call: CallScope) => PluginContext {
  class CallContext {
    readonly #call: CallScope;

    constructor(call: CallScope) {
      this.#call = call;
    }

    get signal(): AbortSignal {
      return this.#call.signal();
    }

    get requestId(): string | undefined {
      return this.#call.requestId;
    }

    get call(): PluginContext["call"] {
      const scope = this.#call;
      return async (plugin, action, payload) =>
        (await scope.port().request(`plugin:${plugin}`, action, [payload])) as never;
    }
  }
  Object.setPrototypeOf(CallContext.prototype, base);
  return CallContext as unknown as new (call: CallScope) => PluginContext;
}
