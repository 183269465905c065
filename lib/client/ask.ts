import type * as z from "zod";
import type { AnswerOf, ParamsIn, Route } from "../contract/route.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import { baseUrl, pathOf, type PathParams } from "../contract/surfaces/paths.ts";
import { statusError } from "./answers.ts";
import { type HttpRequest, operationError, send } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { call } from "./json-request.ts";

type Fields<Schema extends z.ZodObject> = Partial<
  Readonly<Record<keyof z.input<Schema>, string | number | boolean | undefined>>
>;

/**
 * Input of a route's call: parameters of its path, its query and its body, as far as it has them. The parameters that
 * are `Fixed` are none of it.
 */
export type RouteInput<R extends Route, Fixed extends string = never> = ([Exclude<ParamsIn<R>, Fixed>] extends [never]
  ? { params?: never }
  : { params: Readonly<Record<Exclude<ParamsIn<R>, Fixed>, string>> }) &
  (R extends { query: infer Query extends z.ZodObject } ? { query?: Fields<Query> } : { query?: never }) &
  (R extends { body: infer Body extends z.ZodType; form?: never }
    ? undefined extends z.input<Body>
      ? { body?: z.input<Body> }
      : { body: z.input<Body> }
    : { body?: never });

/** Hub with its key, and the operation that errors name. */
export interface Asking {
  operation: HttpRequest["operation"];
  hub: HubConnection;
}

/** Answer of a route, or nothing. */
export type AnswerBody<R extends Route> = AnswerOf<R> extends null ? void : AnswerOf<R>;

/** Returns the method, address and body of a request of a route. */
export function callOf<R extends Route>(
  route: R,
  question: RouteInput<R>,
  hubUrl: string,
): Pick<HttpRequest, "method" | "url" | "json"> {
  const { params, query = {}, body } = question as { params?: unknown; query?: object; body?: object };
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  // A space is %20: not every server reads + as one.
  const search = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
  return {
    method: route.method,
    url: `${baseUrl(hubUrl)}${pathOf(route, ...([params] as unknown as PathParams<R>))}${search === "" ? "" : `?${search}`}`,
    ...(body !== undefined && { json: body }),
  };
}

/** Returns the request of a route, with the key. */
export function requestOf<R extends Route>(route: R, question: RouteInput<R>, { operation, hub }: Asking): HttpRequest {
  const secrets = (route.secret ?? []).map((name) =>
    String((question.body as unknown as Record<string, unknown>)[name]),
  );
  return {
    operation,
    ...callOf(route, question, hub.hubUrl),
    credentials: { [HEADERS.apiKey]: hub.apiKey },
    secrets: [hub.apiKey, ...secrets],
    ...(secrets.length > 0 && { secretBody: true }),
  };
}

/**
 * Calls a route of the hub that answers with JSON or nothing.
 *
 * @throws AuthenticationError on 401 and 403; other errors of the operation
 */
export async function ask<R extends Route>(route: R, question: RouteInput<R>, asking: Asking): Promise<AnswerBody<R>> {
  const request = requestOf(route, question, asking);
  const [[status, schema]] = Object.entries(route.ok) as [[string, z.ZodType]];
  if (status !== "204") return (await call(request, schema, asking.hub)) as AnswerBody<R>;
  const response = await send(request, asking.hub);
  if (response.status !== 204) throw await statusError(response, request);
  response.body.resume();
  return undefined as AnswerBody<R>;
}

/** Items of a route that answers with pages. */
export type ItemOf<R extends Route> =
  AnswerOf<R> extends { items: readonly (infer Item)[]; next: string | null } ? Item : never;

/** Reads a list page by page. @throws as {@link ask}, and `bad_answer` for a page that names itself as the next */
export async function* askPages<R extends Route>(
  route: R,
  question: RouteInput<R>,
  asking: Asking,
): AsyncGenerator<ItemOf<R>> {
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: object = { ...(question.query as unknown as object), ...(cursor !== "" && { cursor }) };
    const found = (await ask(route, { ...question, query } as never, asking)) as {
      items: ItemOf<R>[];
      next: string | null;
    };
    yield* found.items;
    if (found.next !== null && (found.next === cursor || found.next === ""))
      throw operationError(asking.operation, "bad_answer", "the hub's list names the same page again, without an end.");
    cursor = found.next;
  }
}
