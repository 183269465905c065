import type { FastifyRequest } from "fastify";
import type { ParamsIn, Route } from "../../contract/route.ts";
import { callTo, type RouteCall } from "./api.ts";
import { paramsOf, type Screen } from "./context.ts";

interface Sent<R extends Route> {
  /** Returns the page to go on with. */
  to: (request: FastifyRequest) => string;
  /** Parameters of the route. Default: those of the page's path. */
  params?: (request: FastifyRequest) => Readonly<Record<ParamsIn<R>, string>>;
  /** Body, from the fields of the form. */
  body?: (request: FastifyRequest) => object | undefined;
}

/** Returns the screen of a form that calls a route, and then goes to a page. */
export const act =
  <R extends Route>(route: R, { to, params, body }: Sent<R>): Screen =>
  async ({ api }, request) => {
    const question = { params: (params ?? paramsOf)(request), body: body?.(request) } as unknown as RouteCall<R>;
    await api.call(request, callTo(route, question));
    return { goTo: to(request) };
  };
