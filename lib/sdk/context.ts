/** The context that a plugin works with. It is the same in both execution modes. */

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** SQL on one database. An answer holds at most 100,000 rows and 8 MB. */
export interface Statements {
  /** Runs one statement that only reads. Needs the permission `read` on `database:<name>`. */
  query<Row = Record<string, unknown>>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** Runs one statement that may write. Needs the permission `write` on `database:<name>`. */
  execute<Row = Record<string, unknown>>(
    sql: string,
    parameters?: readonly unknown[],
  ): Promise<{ rows: Row[]; changes: number }>;
}

/** Each statement runs in a session of its own: what it changes in the session is gone afterwards. */
export interface Database extends Statements {
  /**
   * Runs `work` in one transaction: committed when `work` resolves, rolled back when it rejects. Statements that are
   * part of it go through the parameter. Needs the permission `write`.
   * @param options `timeoutMs` is how long it may stay open before it is rolled back: 5000 at most, and when left out
   */
  transaction<Result>(
    work: (transaction: Statements) => Promise<Result>,
    options?: { timeoutMs?: number },
  ): Promise<Result>;
}

/** Keys are the plugin's own: no other plugin sees them. Needs the permissions `get`, `set` and `delete` on `cache`. */
export interface Cache {
  get<Value = unknown>(key: string): Promise<Value | null>;
  /** @param ttlSeconds how long the entry lives; the configured time when left out, for ever when 0 */
  set(key: string, value: unknown, ttlSeconds?: number): Promise<void>;
  /** True when there was an entry. */
  delete(key: string): Promise<boolean>;
}

/**
 * The functions that a shared service under `extensions/` offers. Needs the method's name as a permission on
 * `extension:<name>`.
 */
export type Extension = Record<string, (...parameters: unknown[]) => Promise<unknown>>;

export interface Services {
  readonly databases: Readonly<Record<string, Database>>;
  readonly cache: Cache;
  readonly extensions: Readonly<Record<string, Extension>>;
}

export type EventListener<Payload = unknown> = (payload: Payload, source: string) => unknown;

export interface Events {
  /** Tells every listener of every plugin. Needs the permission `emit` on `events:<event>`. */
  emit(event: string, payload?: unknown): Promise<void>;
  /**
   * Listens until the plugin is unloaded or the function that comes back is called. Needs `listen` on `events:<event>`.
   */
  on<Payload = unknown>(event: string, listener: EventListener<Payload>): () => void;
}

export interface PluginContext<Config = Record<string, unknown>> {
  readonly plugin: { readonly name: string; readonly version: string };
  /** The keys of plugin.yaml that are not the contract's. */
  readonly config: Config;
  /** The variables that plugin.yaml declares, and no others. */
  readonly env: Readonly<Record<string, string>>;
  readonly logger: Logger;
  readonly services: Services;
  readonly events: Events;
  /** The folder that survives upgrades; the only one that a sandboxed plugin may write. */
  readonly dataDir: string;
  /** Aborted when the call takes too long; outside of a call, when the plugin is unloaded. */
  readonly signal: AbortSignal;
  /** The request that caused this call, as in the log; absent outside of one. */
  readonly requestId: string | undefined;
  /**
   * The trace that this call belongs to, as the header `traceparent` of requests that the plugin makes has to name it
   * (W3C Trace Context); absent outside of a call, and when nobody traces it.
   */
  readonly traceparent: string | undefined;
  /**
   * Calls an action of another plugin. Needs the action's name as a permission on `plugin:<name>`.
   * @throws an error with the runtime's `code`
   */
  call<Result = unknown>(plugin: string, action: string, payload?: unknown): Promise<Result>;
}
