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

/** Each statement runs in a session of its own: changes to the session are lost afterwards. */
export interface Database extends Statements {
  /**
   * Runs `work` in one transaction: committed when `work` resolves, rolled back when it rejects. Statements of the
   * transaction go through the parameter. Needs the permission `write`.
   * @param options `timeoutMs` is the time after which an open transaction is rolled back: at most 5000, the default
   */
  transaction<Result>(
    work: (transaction: Statements) => Promise<Result>,
    options?: { timeoutMs?: number },
  ): Promise<Result>;
}

/** Keys belong to the plugin: no other plugin sees them. Needs the permissions `get`, `set` and `delete` on `cache`. */
export interface Cache {
  get<Value = unknown>(key: string): Promise<Value | null>;
  /** @param ttlSeconds lifetime of the entry in seconds; by default the configured time, 0 for ever */
  set(key: string, value: unknown, ttlSeconds?: number): Promise<void>;
  /** True when there was an entry. */
  delete(key: string): Promise<boolean>;
}

/**
 * Functions that a shared service under `extensions/` offers. Needs the method's name as a permission on
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
  /** Sends an event to every listener of every plugin. Needs the permission `emit` on `events:<event>`. */
  emit(event: string, payload?: unknown): Promise<void>;
  /** Listens until the plugin is unloaded or the returned function is called. Needs `listen` on `events:<event>`. */
  on<Payload = unknown>(event: string, listener: EventListener<Payload>): () => void;
}

export interface PluginContext<Config = Record<string, unknown>> {
  readonly plugin: { readonly name: string; readonly version: string };
  /** Keys of plugin.yaml outside the contract. */
  readonly config: Config;
  /** Variables that plugin.yaml declares, and no others. */
  readonly env: Readonly<Record<string, string>>;
  readonly logger: Logger;
  readonly services: Services;
  readonly events: Events;
  /** Folder that survives upgrades, and the only one that a sandboxed plugin may write. */
  readonly dataDir: string;
  /** Aborted when the call exceeds its time limit; outside of a call, when the plugin is unloaded. */
  readonly signal: AbortSignal;
  /** Id of the request that caused this call, as in the log; undefined outside of one. */
  readonly requestId: string | undefined;
  /**
   * Trace of this call, to be sent in the header `traceparent` of the plugin's own requests (W3C Trace Context);
   * undefined outside of a call, and without tracing.
   */
  readonly traceparent: string | undefined;
  /**
   * Calls an action of another plugin. Needs the action's name as a permission on `plugin:<name>`.
   * @throws an error with the runtime's `code`
   */
  call<Result = unknown>(plugin: string, action: string, payload?: unknown): Promise<Result>;
}
