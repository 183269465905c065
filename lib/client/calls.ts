import type { AnswerOf, Route } from "../contract/route.ts";
import { type AnswerBody, ask, askPages, type ItemOf, type RouteInput } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";

type CallOf<R extends Route, Fixed extends string> = (
  ...question: object extends RouteInput<R, Fixed> ? [RouteInput<R, Fixed>?] : [RouteInput<R, Fixed>]
) => AnswerOf<R> extends { items: unknown; next: unknown } ? AsyncGenerator<ItemOf<R>> : Promise<AnswerBody<R>>;

/**
 * Calls of routes by their names. A list is read page by page; any other route resolves with its answer. Routes of
 * several kinds are objects of calls.
 */
export type Calls<Routes, Fixed extends string = never> = {
  readonly [
    Name in keyof Routes as Routes[Name] extends Route | Readonly<Record<string, Route>> ? Name : never
  ]: Routes[Name] extends Route ? CallOf<Routes[Name], Fixed> : Calls<Routes[Name], Fixed>;
};

const isRoute = (value: unknown): value is Route =>
  typeof value === "object" && value !== null && "method" in value && "path" in value;

const areRoutes = (value: unknown): value is Readonly<Record<string, Route>> =>
  typeof value === "object" && value !== null && Object.values(value).every(isRoute);

/** Tells whether a route answers with pages of a list. */
const isPaged = ({ query }: Route): boolean => query !== undefined && "cursor" in query.shape;

/**
 * Returns the calls of a hub's routes. Their answers are checked against the schemas of the routes.
 *
 * @param routes by their names, such as a module of `lib/contract/<what>/routes.ts`; its other exports are left out
 * @param fixed path parameters of all calls, which then take the others
 * @throws from each call AuthenticationError on 401 and 403, DeploymentError otherwise
 */
export function callsOf<
  Routes extends object,
  const Fixed extends Readonly<Record<string, string>> = Record<never, never>,
>(routes: Routes, hub: HubConnection, fixed?: Fixed): Calls<Routes, keyof Fixed & string> {
  const callOf = (route: Route) => {
    const call: typeof ask | typeof askPages = isPaged(route) ? askPages : ask;
    return (question: { params?: object } = {}) => {
      const params = { ...fixed, ...question.params };
      return call(route, { ...question, params } as never, { operation: "keys", hub });
    };
  };
  const calls: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(routes) as [string, unknown][])
    if (isRoute(value)) calls[name] = callOf(value);
    else if (areRoutes(value)) calls[name] = callsOf(value, hub, fixed);
  return calls as Calls<Routes, keyof Fixed & string>;
}
