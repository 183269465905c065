import type { PayloadSchema } from "./definition.ts";

/**
 * `@action` and `@route` for plugins written as a class: standard (TC39) decorators. They mark the method itself, so
 * they need no metadata support from the compiler.
 */

export const ACTION = Symbol.for("sealift.action");
export const ROUTE = Symbol.for("sealift.route");

export interface ActionMark {
  /** Name of the action. Default: the method's name. */
  name?: string;
  payload?: PayloadSchema;
  description?: string;
}

export interface RouteMark {
  method: string | string[];
  path: string;
  permissions?: string[];
}

// The methods of any class: their parameters cannot be known here.
// oxlint-disable-next-line typescript/no-explicit-any
type Method = (this: any, ...parameters: any[]) => unknown;

/** Makes a method an action; it receives `(payload, context)`. */
export function action(mark: ActionMark | string = {}) {
  return function <T extends Method>(method: T, { name }: ClassMethodDecoratorContext): T {
    const facts = typeof mark === "string" ? { name: mark } : mark;
    Object.defineProperty(method, ACTION, { value: { name: String(name), ...facts } });
    return method;
  };
}

/**
 * Makes a method an HTTP route below `/plugin/<name>`; it receives `(request, reply, context)`.
 */
export function route(mark: RouteMark) {
  return function <T extends Method>(method: T, _context: ClassMethodDecoratorContext): T {
    Object.defineProperty(method, ROUTE, { value: mark });
    return method;
  };
}
