import type {
  Cache,
  Database,
  EventListener,
  Events,
  Extension,
  Logger,
  PluginContext,
  Services,
  Statements,
} from "../../sdk/context.ts";
import { messageOf } from "./fault.ts";
import type { PluginLog, PluginPort } from "./plugin-port.ts";

export interface GuestFacts {
  name: string;
  version: string;
  config: Record<string, unknown>;
  env: Record<string, string>;
  dataDir: string;
  /** Names of the configured databases; the next fields are alike. */
  databases: string[];
  extensions: string[];
}

/** Part of a plugin's context that a call adds; the signal is created only on use. */
export interface CallScope {
  signal(): AbortSignal;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
}

/** Port as used outside of calls. */
type BasePort = Pick<PluginPort<never>, "request">;

/** Listeners of one plugin instance; the runtime delivers to it, and forgets it as a whole. */
export class Listeners {
  readonly #byEvent = new Map<string, Set<EventListener>>();
  readonly #port: BasePort;
  readonly #log: PluginLog;

  constructor(port: BasePort, log: PluginLog) {
    this.#port = port;
    this.#log = log;
  }

  add(event: string, listener: EventListener): () => void {
    const existing = this.#byEvent.get(event);
    const listeners = existing ?? new Set();
    if (existing === undefined) {
      this.#byEvent.set(event, listeners);
      this.#port.request(`events:${event}`, "listen", [], undefined).catch((error: unknown) => {
        this.#log("error", `cannot listen to the event ${event}: ${messageOf(error)}`, undefined);
      });
    }
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  deliver(event: string, payload: unknown, source: string): void {
    for (const listener of this.#byEvent.get(event) ?? []) {
      void (async () => listener(payload, source))().catch((error: unknown) => {
        this.#log("error", `a listener of the event ${event} failed: ${messageOf(error)}`, undefined);
      });
    }
  }
}

function loggerTo(log: PluginLog): Logger {
  return {
    debug: (message, fields) => log("debug", message, fields),
    info: (message, fields) => log("info", message, fields),
    warn: (message, fields) => log("warn", message, fields),
    error: (message, fields) => log("error", message, fields),
  };
}

function servicesThrough(port: BasePort, facts: GuestFacts): Services {
  const ask = (target: string, method: string, parameters: unknown[]): Promise<unknown> =>
    port.request(target, method, parameters, undefined);
  const statements = (target: string, ...transaction: string[]): Statements => ({
    query: async (sql, parameters = []) => (await ask(target, "query", [sql, parameters, ...transaction])) as never,
    execute: async (sql, parameters = []) => (await ask(target, "execute", [sql, parameters, ...transaction])) as never,
  });
  const database = (name: string): Database => {
    const target = `database:${name}`;
    return {
      ...statements(target),
      async transaction(work, { timeoutMs } = {}) {
        const id = (await ask(target, "begin", timeoutMs === undefined ? [] : [timeoutMs])) as string;
        try {
          const result = await work(statements(target, id));
          await ask(target, "commit", [id]);
          return result;
        } catch (error) {
          await ask(target, "rollback", [id]).catch(() => undefined);
          throw error;
        }
      },
    };
  };
  const cache: Cache = {
    get: async (key) => ((await ask("cache", "get", [key])) ?? null) as never,
    set: async (key, value, ttlSeconds) => {
      await ask("cache", "set", ttlSeconds === undefined ? [key, value] : [key, value, ttlSeconds]);
    },
    delete: async (key) => (await ask("cache", "delete", [key])) === true,
  };
  // Methods are resolved by name: only the runtime knows what an extension offers.
  const extension = (name: string): Extension =>
    new Proxy(
      {},
      {
        get: (_target, method) =>
          // `then` stays undefined, so that an extension can be returned from an async function.
          typeof method === "string" && method !== "then"
            ? (...parameters: unknown[]) => ask(`extension:${name}`, method, parameters)
            : undefined,
      },
    );
  return {
    databases: byName(facts.databases, database),
    cache,
    extensions: byName(facts.extensions, extension),
  };
}

/**
 * Returns services by their names. One that the configuration lacks can still be called: the runtime's answer says what
 * is missing, unlike a property of `undefined`.
 */
function byName<T>(names: readonly string[], make: (name: string) => T): Readonly<Record<string, T>> {
  const known: Record<string, T> = Object.fromEntries(names.map((name) => [name, make(name)]));
  const get = (_known: Readonly<Record<string, T>>, name: string | symbol): T | undefined =>
    typeof name !== "string" || name in known || name === "then" ? known[name as string] : make(name);
  return new Proxy(known, { get });
}

/** Builds a plugin's context and, from it, that of each call. */
export class ContextFactory<Call extends CallScope> {
  readonly base: { -readonly [Field in keyof PluginContext]: PluginContext[Field] };
  readonly facts: GuestFacts;
  readonly listeners: Listeners;
  readonly #unloaded = new AbortController();
  readonly #CallContext: new (call: Call) => PluginContext;

  constructor(facts: GuestFacts, port: PluginPort<Call>, log: PluginLog) {
    this.facts = facts;
    this.listeners = new Listeners(port, log);
    const { listeners } = this;
    const events: Events = {
      emit: async (event, payload) => {
        await port.request(`events:${event}`, "emit", [payload], undefined);
      },
      on: (event, listener) => listeners.add(event, listener as EventListener),
    };
    this.base = {
      plugin: { name: facts.name, version: facts.version },
      config: facts.config,
      env: facts.env,
      logger: loggerTo(log),
      services: servicesThrough(port, facts),
      events,
      dataDir: facts.dataDir,
      signal: this.#unloaded.signal,
      requestId: undefined,
      traceparent: undefined,
      call: async (plugin, action, payload) =>
        (await port.request(`plugin:${plugin}`, action, [payload], undefined)) as never,
    };
    this.#CallContext = callContextClass(this.base, port);
  }

  /**
   * Checks the plugin's own keys by its schema, and puts the output into the context. @throws RuntimeFault
   * `load_failed`
   */
  async configure({ config }: { config: ((keys: unknown) => unknown) | undefined }): Promise<void> {
    if (config !== undefined) this.base.config = (await config(this.facts.config)) as PluginContext["config"];
  }

  forCall(call: Call): PluginContext {
    return new this.#CallContext(call);
  }

  /** Aborts the plugin's own signal. */
  unload(): void {
    this.#unloaded.abort();
  }
}

/**
 * Returns the class of call contexts. A class, because one is made for every call: its fields belong to the call, the
 * rest is inherited from the plugin's context.
 */
function callContextClass<Call extends CallScope>(
  base: PluginContext,
  port: PluginPort<Call>,
): new (call: Call) => PluginContext {
  class CallContext {
    readonly #call: Call;

    constructor(call: Call) {
      this.#call = call;
    }

    get signal(): AbortSignal {
      return this.#call.signal();
    }

    get requestId(): string | undefined {
      return this.#call.requestId;
    }

    get traceparent(): string | undefined {
      return this.#call.traceparent;
    }

    get call(): PluginContext["call"] {
      return async (plugin, action, payload) =>
        (await port.request(`plugin:${plugin}`, action, [payload], this.#call)) as never;
    }
  }
  Object.setPrototypeOf(CallContext.prototype, base);
  return CallContext as unknown as new (call: Call) => PluginContext;
}
