import type { RouteFacts } from "../base/instance.ts";
import type { ActionFacts } from "../guest/definition.ts";
import { RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { parseJson } from "../guest/json.ts";

const MAX_ACTIONS = 10_000;
const MAX_ROUTES = 1000;
const MAX_DESCRIPTION_CHARACTERS = 4096;
/** Deepest payload schema that the OpenAPI document shows. */
const MAX_SCHEMA_LEVELS = 100;

/** Description that a sandbox's process sends of its loaded plugin. Hostile, so every part is checked. */
export interface Ready {
  actions: ReadonlySet<string>;
  routes: readonly RouteFacts[];
  described: ReadonlyMap<string, ActionFacts>;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Measures nesting without recursion, which the value could exhaust. */
function isDeeper(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= levels; depth++) {
    level = level.flatMap((part) =>
      typeof part === "object" && part !== null ? (Object.values(part) as unknown[]) : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}

function factsOf(value: unknown): ActionFacts {
  if (!isObject(value)) return {};
  const { description, payload } = value;
  return {
    ...(typeof description === "string" && { description: description.slice(0, MAX_DESCRIPTION_CHARACTERS) }),
    ...(isObject(payload) && !isDeeper(payload, MAX_SCHEMA_LEVELS) && { payload }),
  };
}

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** Pattern of paths. Regular expressions of routes are not allowed: they would run in the runtime. */
const PATH = /^(?:\/[\w.~!$&'+,;=@%:/*-]{0,511})?$/;

const isTexts = (value: unknown, maxCount: number): value is string[] =>
  Array.isArray(value) &&
  value.length <= maxCount &&
  value.every((text) => typeof text === "string" && text.length <= 256);

/** Checks a route. @throws RuntimeFault `load_failed` */
function routeOf(value: unknown): RouteFacts {
  const { methods, path, permissions } = isObject(value) ? value : {};
  const shown = JSON.stringify(path)?.slice(0, 100) ?? "without a path";
  const invalid = (why: string): RuntimeFault => new RuntimeFault("load_failed", `The route ${shown} ${why}.`);
  if (typeof path !== "string" || !PATH.test(path)) {
    throw invalid("is not served in a sandbox: a path has no regular expression, and at most 512 plain characters");
  }
  if (!isTexts(methods, METHODS.size) || methods.length === 0 || !methods.every((method) => METHODS.has(method))) {
    throw invalid(`has another method than ${[...METHODS].join(", ")}`);
  }
  // A malformed list must not make the route a public one.
  if (permissions !== undefined && !isTexts(permissions, 64))
    throw invalid("has permissions that are not a list of names");
  return { methods, path, permissions };
}

/** Reads the description. @throws RuntimeFault `load_failed` for a route that cannot be served */
export function readReady({ header, body }: Frame): Ready {
  const { actions } = header;
  const names = Array.isArray(actions) ? actions.filter((name) => typeof name === "string") : [];
  const known = new Set(names.slice(0, MAX_ACTIONS));
  const facts = objectOf(body);
  const described = isObject(facts["actions"]) ? facts["actions"] : {};
  const routes = Array.isArray(facts["routes"]) ? facts["routes"] : [];
  if (routes.length > MAX_ROUTES) throw new RuntimeFault("load_failed", `A plugin has at most ${MAX_ROUTES} routes.`);
  return {
    actions: known,
    routes: routes.map(routeOf),
    described: new Map(
      [...known].map((name) => [name, Object.hasOwn(described, name) ? factsOf(described[name]) : {}]),
    ),
  };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value = text === "" ? {} : parseJson(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
