import type { PluginContext } from "../../sdk/context.ts";
import type { PluginDefinition, RouteDefinition } from "../../sdk/definition.ts";
import { RuntimeFault } from "./fault.ts";

/**
 * Runs a plugin's `router` in a sandbox, without Fastify: what it declares becomes routes like those of `routes`. What
 * the runtime could not honour, above all a hook that checks a token, is rejected instead of ignored.
 */

type Routes = RouteDefinition<Record<string, unknown>>[];

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const refused = (what: string): RuntimeFault =>
  new RuntimeFault("load_failed", `The router uses ${what}, which a sandboxed plugin does not have: see routes.`);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function permissionsOf(options: Record<string, unknown>, known: readonly string[]): { permissions?: string[] } {
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined) throw refused(`the option ${other} of a route`);
  const { config } = options;
  // The runtime rejects anything but a list of names.
  return isObject(config) && config["permissions"] !== undefined
    ? { permissions: config["permissions"] as string[] }
    : {};
}

/** Returns the part of a Fastify instance that declares routes; `routes` gets them. */
function declaring(routes: Routes, prefix: string): object {
  const add = (method: unknown, path: unknown, handler: unknown, permissions: { permissions?: string[] }): void => {
    if (typeof handler !== "function") throw refused(`a route without a handler (${String(path)})`);
    const run = handler as (request: unknown, reply: unknown, context: PluginContext) => unknown;
    routes.push({ method, path: prefix + String(path), handler: run, ...permissions } as Routes[number]);
  };
  const short = (methods: string | string[]) => (path: unknown, options: unknown, handler?: unknown) => {
    if (handler === undefined && typeof options === "function") add(methods, path, options, {});
    else {
      const given = isObject(options) ? options : {};
      add(methods, path, handler ?? given["handler"], permissionsOf(given, ["config", "handler"]));
    }
    return app;
  };
  const parts: Record<string, unknown> = {
    ...Object.fromEntries(METHODS.map((method) => [method.toLowerCase(), short(method)])),
    all: short(METHODS),
    route: (options: Record<string, unknown>) => {
      const permissions = permissionsOf(options, ["method", "url", "path", "config", "handler"]);
      add(options["method"], options["url"] ?? options["path"], options["handler"], permissions);
      return app;
    },
    register: async (router: unknown, options: { prefix?: string } = {}) => {
      if (typeof router !== "function") throw refused("a plugin that is not a function");
      await (router as (app: object, options: object) => unknown)(
        declaring(routes, prefix + (options.prefix ?? "")),
        options,
      );
    },
    prefix,
  };
  const app: object = new Proxy(parts, {
    get: (target, name) => {
      // `await` reads the property `then`.
      if (typeof name === "symbol" || name === "then") return undefined;
      if (Object.hasOwn(target, name)) return target[name];
      throw refused(`app.${name}`);
    },
  });
  return app;
}

/**
 * Returns the routes that a router declares. @throws RuntimeFault `load_failed` for a router that does more; what the
 * router throws
 */
export async function routesOfRouter(router: PluginDefinition["router"]): Promise<Routes> {
  const routes: Routes = [];
  if (router) await (router as unknown as (app: object, options: object) => unknown)(declaring(routes, ""), {});
  return routes;
}
