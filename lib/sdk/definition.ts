import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import type { PluginContext } from "./context.ts";

/** The part of Standard Schema that the runtime uses: zod 4, valibot, arktype and others have it. */
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
  /** Checked before the handler runs; a payload that does not fit is answered with 400. */
  payload?: PayloadSchema<Payload>;
  description?: string;
  handler: ActionHandler<Payload, Config>;
}

export interface RouteDefinition<Config = never> {
  method: string | string[];
  /** Below `/plugin/<name>`, in Fastify's form: `/items/:id`. */
  path: string;
  /**
   * All of them must be in the bearer token; an empty list asks for a valid token only. Absent: the route is public.
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
   * Checks the plugin's own keys of `plugin.yaml` before anything else runs; keys that do not fit fail the load.
   * `context.config` is what the schema makes of them.
   */
  config?: PayloadSchema<Config>;
  actions?: Record<string, ActionHandler<never, Config> | ActionDefinition<never, Config>>;
  /** HTTP routes below `/plugin/<name>`; in a sandbox with the parts of request and reply that `RouteRequest` has. */
  routes?: RouteDefinition<Config>[];
  /**
   * A Fastify plugin, for more than `routes` can say; a route's permissions are its `config.permissions`. In a
   * sandbox it may declare routes and register other routers, and nothing else of Fastify is there.
   */
  router?: FastifyPluginAsync;
  /** Runs before the first call; an error here fails the load or the reload. */
  onLoad?: (context: PluginContext<Config>) => Awaitable<unknown>;
  /** Runs after onLoad when the instance takes the place of an older one, which still serves. */
  onReload?: (context: PluginContext<Config>) => Awaitable<unknown>;
  /** Runs after the last call. */
  onUnload?: (context: PluginContext<Config>) => Awaitable<unknown>;
  /** Throw, or return false or a report, to say that the plugin cannot do its work. */
  healthCheck?: (context: PluginContext<Config>) => Awaitable<HealthReport | boolean | undefined>;
}

/** Marks what `definePlugin` returns; registered, so that copies of the SDK recognise each other's plugins. */
export const PLUGIN = Symbol.for("sealift.plugin");

/** A plugin as its module's default export. It only describes: nothing runs before the runtime loads it. */
export function definePlugin<Config = Record<string, unknown>>(
  definition: PluginDefinition<Config>,
): PluginDefinition<Config> {
  return { ...definition, [PLUGIN]: 1 } as PluginDefinition<Config>;
}

/** An action whose handler's payload type comes from its schema. */
export function defineAction<Payload, Config = Record<string, unknown>>(
  definition: ActionDefinition<Payload, Config>,
): ActionDefinition<never, Config> {
  return definition as unknown as ActionDefinition<never, Config>;
}

/** Thrown by an action to have its payload refused with 400 where a schema cannot say why. */
export class PayloadError extends Error {
  readonly code = "payload_invalid";
  override name = "PayloadError";
}
