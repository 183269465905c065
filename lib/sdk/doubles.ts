import type { Cache } from "./context.ts";
import { definePlugin, type PluginDefinition } from "./definition.ts";

/**
 * Stand-ins for what a plugin asks of its runtime, for `sealift plugin test`: the default export of `plugin.doubles.ts`
 * or `plugin.doubles.js` beside `plugin.test.yaml`. They run in a sandbox of their own, and keep what they remember
 * from the first call of a trial to its last.
 */

type Awaitable<T> = T | Promise<T>;

/** Database that answers by functions, statements of a transaction included. */
export interface DatabaseDouble {
  query?(sql: string, parameters: readonly unknown[]): Awaitable<readonly Record<string, unknown>[]>;
  /** Answers a statement; undefined counts as no rows and no changes. */
  execute?(
    sql: string,
    parameters: readonly unknown[],
  ): Awaitable<{ rows?: readonly Record<string, unknown>[]; changes?: number } | undefined | void>;
}

/** Cache that answers by functions, which may return promises or not. */
export type CacheDouble = {
  [Method in keyof Cache]?: (...parameters: Parameters<Cache[Method]>) => Awaitable<unknown>;
};

export interface Doubles {
  databases?: Readonly<Record<string, DatabaseDouble>>;
  /** Cache of the trial. Default: in memory. */
  cache?: CacheDouble;
  /** Functions of shared services, by the service's name. */
  extensions?: Readonly<Record<string, Readonly<Record<string, (...parameters: never[]) => unknown>>>>;
  /** Actions of other plugins, by the plugin's name. */
  plugins?: Readonly<Record<string, Readonly<Record<string, (payload: never) => unknown>>>>;
}

/** Request of a plugin to its runtime, as passed to the stand-ins. */
export interface DoubledRequest {
  /** `cache`, `database:<name>`, `extension:<name>` or `plugin:<name>`. */
  target: string;
  method: string;
  parameters: unknown[];
}

/** Answer of a stand-in, or why it failed. */
export type DoubledAnswer = { answer: unknown } | { failed: string };

type Functions = Readonly<Record<string, ((...parameters: unknown[]) => unknown) | undefined>>;

function standInFor({ databases, cache, extensions, plugins }: Doubles, target: string): Functions | undefined {
  if (target === "cache") return cache as Functions | undefined;
  const at = target.indexOf(":");
  const groups: Record<string, Readonly<Record<string, unknown>> | undefined> = {
    database: databases,
    extension: extensions,
    plugin: plugins,
  };
  const group = groups[target.slice(0, at)] ?? {};
  const name = target.slice(at + 1);
  return Object.hasOwn(group, name) ? (group[name] as Functions) : undefined;
}

/** Returns null where there is no stand-in, and the runtime answers itself. */
async function answerOf(doubles: Doubles, request: DoubledRequest): Promise<DoubledAnswer | null> {
  const { target, method, parameters } = request;
  const standIn = standInFor(doubles, target);
  if (standIn === undefined) return null;
  const isDatabase = target.startsWith("database:");
  if (isDatabase && method === "begin") return { answer: "transaction" };
  if (isDatabase && (method === "commit" || method === "rollback")) return { answer: null };
  const found = Object.hasOwn(standIn, method) ? standIn[method] : undefined;
  if (typeof found !== "function") return { failed: `The stand-in for ${target} has no ${method}.` };
  try {
    const answer: unknown = await found.apply(standIn, isDatabase ? parameters.slice(0, 2) : parameters);
    if (isDatabase && method === "execute") return { answer: { rows: [], changes: 0, ...(answer as object) } };
    return { answer: answer ?? null };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

/** Defines stand-ins, as the default export of `plugin.doubles.ts`. The runtime of a trial runs them like plugins. */
export function defineDoubles(doubles: Doubles): PluginDefinition {
  return definePlugin({ actions: { request: (request: DoubledRequest) => answerOf(doubles, request) } });
}
