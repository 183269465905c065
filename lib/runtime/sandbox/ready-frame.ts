import type { ActionFacts } from "../guest/definition.ts";
import type { Frame } from "../guest/frames.ts";
import { parseJson } from "../guest/json.ts";

const MAX_ACTIONS = 10_000;

/** What a sandbox's process says of its plugin once it is loaded. Hostile, so every part is checked. */
export interface Ready {
  actions: ReadonlySet<string>;
  routes: number;
  described: ReadonlyMap<string, ActionFacts>;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function factsOf(value: unknown): ActionFacts {
  if (!isObject(value)) return {};
  const { description, payload } = value;
  return {
    ...(typeof description === "string" && { description }),
    ...(isObject(payload) && { payload }),
  };
}

export function readReady({ header, body }: Frame): Ready {
  const { actions, routes } = header;
  const names = Array.isArray(actions) ? actions.filter((name) => typeof name === "string") : [];
  const known = new Set(names.slice(0, MAX_ACTIONS));
  let facts: unknown;
  try {
    facts = body === "" ? {} : parseJson(body);
  } catch {
    facts = {};
  }
  const described = isObject(facts) ? facts : {};
  return {
    actions: known,
    routes: typeof routes === "number" ? routes : 0,
    described: new Map(
      [...known].map((name) => [name, Object.hasOwn(described, name) ? factsOf(described[name]) : {}]),
    ),
  };
}
