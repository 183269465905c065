/** `sealift/sdk`: everything that a plugin's author imports. The runtime resolves it; a plugin installs nothing. */
export type {
  Cache,
  Database,
  EventListener,
  Events,
  Extension,
  Logger,
  PluginContext,
  Services,
  Statements,
} from "./context.ts";
export { type CacheDouble, type DatabaseDouble, type Doubles, defineDoubles } from "./doubles.ts";
export { type ActionMark, type RouteMark, action, route } from "./decorators.ts";
export type { RouteReply, RouteRequest } from "./routes.ts";
export {
  type ActionDefinition,
  type ActionHandler,
  type HealthReport,
  type JsonSchema,
  PayloadError,
  type PayloadSchema,
  type PluginDefinition,
  type RouteDefinition,
  type StandardSchema,
  defineAction,
  definePlugin,
} from "./definition.ts";
