import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import type { PluginContext } from "./context.ts";

/** Part of Standard Schema that the runtime uses: zod 4, valibot, arktype and others have it. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}
export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A JSON Schema (draft 2020-12, 7 or 4), as a plain object. */
export type JsonSchema = Readonly<Record<string, unknown>>;
export type PayloadSchema<Output = unknown> = StandardSchema<Output> | JsonSchema;

type Awaitable<T> = T | Promise<T>;

export type ActionHandler<Payload = never, Config = never> = (
  payload: Payload,
  context: PluginContext<Config>,
) => unknown;

export interface ActionDefinition<Payload = never, Config = never> {
  /** Schema checked before the handler runs; a payload that does not fit is answered with 400. */
  payload?: PayloadSchema<Payload>;
  description?: string;
  handler: ActionHandler<Payload, Config>;
}

export interface RouteDefinition<Config = never> {
  method: string | string[];
  /** Path below `/plugin/<name>`, in Fastify's form: `/items/:id`. */
  path: string;
  /**
   * Permissions that the bearer token must all have; an empty list only requires a valid token. Undefined: the route is
   * public.
   */
  permissions?: string[];
  handler: (request: FastifyRequest, reply: FastifyReply, context: PluginContext<Config>) => unknown;
}

export interface HealthReport {
  status: "healthy" | "degraded" | "unhealthy";
  message?: string;
}

export interface PluginDefinition<Config = Record<string, unknown>> {
  /**
   * Schema of the plugin's own keys of `plugin.yaml`, checked before anything else runs; if they do not fit, the load
   * fails. `context.config` is the schema's output.
   */
  config?: PayloadSchema<Config>;
  actions?: Record<string, ActionHandler<never, Config> | ActionDefinition<never, Config>>;
  /** HTTP routes below `/plugin/<name>`; in a sandbox with the parts of request and reply that `RouteRequest` has. */
  routes?: RouteDefinition<Config>[];
  /**
   * Fastify plugin, for more than `routes` can express; a route's permissions are its `config.permissions`. In a
   * sandbox it may declare routes and register other routers, and nothing else of Fastify.
   */
  router?: FastifyPluginAsync;
  /** Runs before the first call; an error here fails the load or the reload. */
  onLoad?: (context: PluginContext<Config>) => Awaitable<unknown>;
  /** Runs after onLoad when the instance replaces an older one, which still serves. */
  onReload?: (context: PluginContext<Config>) => Awaitable<unknown>;
  /** Runs after the last call. */
  onUnload?: (context: PluginContext<Config>) => Awaitable<unknown>;
  /** Throw, or return false or a report, to signal that the plugin cannot work. */
  healthCheck?: (context: PluginContext<Config>) => Awaitable<HealthReport | boolean | undefined>;
}

/** Mark of what `definePlugin` returns; registered, so that copies of the SDK recognize each other's plugins. */
export const PLUGIN = Symbol.for("sealift.plugin");

/** Defines a plugin, as its module's default export. Nothing runs before the runtime loads it. */
export function definePlugin<Config = Record<string, unknown>>(
  definition: PluginDefinition<Config>,
): PluginDefinition<Config> {
  return { ...definition, [PLUGIN]: 1 } as PluginDefinition<Config>;
}

/** Defines an action whose handler's payload type comes from its schema. */
export function defineAction<Payload, Config = Record<string, unknown>>(
  definition: ActionDefinition<Payload, Config>,
): ActionDefinition<never, Config> {
  return definition as unknown as ActionDefinition<never, Config>;
}

/** Error with which an action rejects its payload with 400 where a schema cannot say why. */
export class PayloadError extends Error {
  readonly code = "payload_invalid";
  override name = "PayloadError";
}
