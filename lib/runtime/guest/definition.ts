import type { PluginContext } from "../../sdk/context.ts";
import { ACTION, type ActionMark, ROUTE, type RouteMark } from "../../sdk/decorators.ts";
import type { ActionDefinition, HealthReport, PluginDefinition, RouteDefinition } from "../../sdk/definition.ts";
import { messageOf, RuntimeFault } from "./fault.ts";
import { jsonSchemaOf, type SchemaCheck, schemaCheck } from "./payload-schema.ts";

/** Reads a plugin's module into one form: functions bound, schemas ready. Runs wherever the plugin's code runs. */

/** Facts of an action. */
export interface ActionFacts {
  description?: string | undefined;
  /** Payload schema as JSON Schema, if it can be expressed so. */
  payload?: Readonly<Record<string, unknown>> | undefined;
}

export interface PluginAction extends ActionFacts {
  check: SchemaCheck | undefined;
  run: (payload: unknown, context: PluginContext) => unknown;
}

const MAX_DESCRIPTION_CHARACTERS = 4096;

type Hook = ((context: PluginContext) => unknown) | undefined;

export interface LoadedPlugin {
  /** Checks the plugin's own keys of plugin.yaml. */
  config: SchemaCheck | undefined;
  actions: Map<string, PluginAction>;
  routes: RouteDefinition<Record<string, unknown>>[];
  router: PluginDefinition["router"];
  onLoad: Hook;
  onReload: Hook;
  onUnload: Hook;
  healthCheck: Hook;
}

/** Exports of which a plugin's module has at least one. */
const PARTS = ["actions", "routes", "router", "onLoad", "onReload", "onUnload", "healthCheck"] as const;

type AnyFunction = (...parameters: unknown[]) => unknown;
const isFunction = (value: unknown): value is AnyFunction => typeof value === "function";
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/**
 * Finds the plugin among a module's exports: a CommonJS module has it in `default`, transpiled ones in
 * `default.default`, and a module may export its parts by name.
 */
function exportedPlugin(namespace: Record<string, unknown>): unknown {
  let exported: unknown = "default" in namespace ? namespace["default"] : namespace;
  if (isObject(exported) && "default" in exported && !("actions" in exported)) exported = exported["default"];
  return exported ?? namespace;
}

/** Lists methods with a mark, nearest class first; the prototype chain ends before Object's own. */
function markedMethods(instance: object): { name: string; method: AnyFunction }[] {
  const found = new Map<string, AnyFunction>();
  for (
    let prototype = Object.getPrototypeOf(instance) as object | null;
    prototype !== null && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype) as object | null
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (isFunction(value) && !found.has(name)) found.set(name, value);
    }
  }
  return [...found].map(([name, method]) => ({ name, method }));
}

function definitionOfInstance(instance: Record<string, unknown>, config: unknown): PluginDefinition {
  const actions: NonNullable<PluginDefinition["actions"]> = {};
  const routes: RouteDefinition[] = [];
  for (const { name, method } of markedMethods(instance)) {
    const bound = method.bind(instance) as never;
    const asAction = (method as { [ACTION]?: ActionMark })[ACTION];
    if (asAction)
      actions[asAction.name ?? name] = { ...asAction, handler: bound } as unknown as ActionDefinition<
        never,
        Record<string, unknown>
      >;
    const asRoute = (method as { [ROUTE]?: RouteMark })[ROUTE];
    if (asRoute) routes.push({ ...asRoute, handler: bound });
  }
  const hook = (name: string): never =>
    (isFunction(instance[name]) ? instance[name].bind(instance) : undefined) as never;
  return {
    config: config as never,
    actions,
    routes: routes as never,
    router: hook("router"),
    onLoad: hook("onLoad"),
    onReload: hook("onReload"),
    onUnload: hook("onUnload"),
    healthCheck: hook("healthCheck"),
  };
}

const invalid = (message: string): RuntimeFault => new RuntimeFault("load_failed", message);

async function readAction(name: string, declared: unknown): Promise<PluginAction> {
  if (isFunction(declared)) return { check: undefined, run: declared };
  if (!isObject(declared) || !isFunction(declared["handler"])) {
    throw invalid(`The action ${name} is neither a function nor an object with a handler.`);
  }
  const { payload, handler, description } = declared as unknown as ActionDefinition;
  const facts = {
    run: handler as PluginAction["run"],
    ...(typeof description === "string" && { description: description.slice(0, MAX_DESCRIPTION_CHARACTERS) }),
  };
  if (payload === undefined) return { ...facts, check: undefined };
  try {
    return { ...facts, check: await schemaCheck(payload), payload: jsonSchemaOf(payload) };
  } catch (error) {
    throw invalid(`The payload schema of the action ${name} cannot be used: ${messageOf(error)}`);
  }
}

const configRefusal = (faults: string): RuntimeFault =>
  invalid(`The plugin's own keys in plugin.yaml do not fit its schema: ${faults}. Correct them there.`);

async function readConfig(schema: unknown): Promise<SchemaCheck | undefined> {
  if (schema === undefined) return undefined;
  if (!isObject(schema))
    throw invalid("config is not a schema: give a Standard Schema, such as zod's, or a JSON Schema.");
  try {
    return await schemaCheck(schema, configRefusal);
  } catch (error) {
    throw invalid(`The schema of config cannot be used: ${messageOf(error)}`);
  }
}

/**
 * Reads what a plugin's entry point exports: `definePlugin({…})`, a plain object of that form, or a class with
 * decorated methods.
 * @throws RuntimeFault `load_failed`
 */
export async function readPlugin(namespace: Record<string, unknown>): Promise<LoadedPlugin> {
  let exported = exportedPlugin(namespace);
  if (isFunction(exported)) {
    const Plugin = exported as unknown as { config?: unknown; new (): Record<string, unknown> };
    if (!/^class\b/.test(Function.prototype.toString.call(exported))) {
      throw invalid("The entry point's default export is a function; it must be definePlugin({…}) or a class.");
    }
    exported = definitionOfInstance(new Plugin(), Plugin.config);
  }
  if (!isObject(exported) || !PARTS.some((part) => part in (exported as object))) {
    throw invalid("The entry point exports no plugin: use export default definePlugin({…}).");
  }
  const definition = exported as PluginDefinition;
  const actions = new Map<string, PluginAction>();
  for (const [name, declared] of Object.entries(definition.actions ?? {})) {
    actions.set(name, await readAction(name, declared));
  }
  const hook = (name: "onLoad" | "onReload" | "onUnload" | "healthCheck"): Hook => {
    const declared: unknown = definition[name];
    if (declared !== undefined && !isFunction(declared)) throw invalid(`${name} is not a function.`);
    return declared?.bind(exported);
  };
  if (definition.routes !== undefined && !Array.isArray(definition.routes)) throw invalid("routes is not a list.");
  if (definition.router !== undefined && !isFunction(definition.router)) throw invalid("router is not a function.");
  return {
    config: await readConfig(definition.config),
    actions,
    routes: definition.routes ?? [],
    router: definition.router,
    onLoad: hook("onLoad"),
    onReload: hook("onReload"),
    onUnload: hook("onUnload"),
    healthCheck: hook("healthCheck"),
  };
}

/** Runs the plugin's own health check; without one a plugin that answers is healthy. */
export async function askHealth(plugin: LoadedPlugin, context: PluginContext): Promise<Required<HealthReport>> {
  if (plugin.healthCheck === undefined) return { status: "healthy", message: "ok" };
  try {
    const answer = (await plugin.healthCheck(context)) as HealthReport | boolean | undefined;
    if (answer === false) return { status: "unhealthy", message: "the plugin's health check returned false" };
    if (!isObject(answer)) return { status: "healthy", message: "ok" };
    const { status, message } = answer as unknown as HealthReport;
    const known = status === "healthy" || status === "degraded" ? status : "unhealthy";
    return { status: known, message: String(message ?? known).slice(0, 1024) };
  } catch (error) {
    return { status: "unhealthy", message: messageOf(error).slice(0, 1024) };
  }
}
