import type { FastifyInstance, FastifyRequest, InjectOptions } from "fastify";
import type { Code } from "../../contract/codes.ts";
import { SealiftError } from "../../contract/errors.ts";
import { NEXT_HEADER } from "../../contract/fleets/query.ts";
import type { AnswerOf, ParamsIn, QueryOf, Route } from "../../contract/route.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { pathOf, type PathParams } from "../../contract/surfaces/paths.ts";
import type { WebCalls } from "../../hub/access/web-calls.ts";
import { HubError, notFound } from "../../hub/base/errors.ts";
import { queryOf } from "./context.ts";

const NEXT = NEXT_HEADER.toLowerCase();

/** Answer of a route, with any status. */
interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  bytes: Buffer;
}

/** Page of a list, in the form of the API. */
export interface Listed<T> {
  items: T[];
  /** Cursor of the next page. */
  next: string | null;
}

/** Page of a list with its own cursor; empty for the first page. */
export interface Paged<T> extends Listed<T> {
  cursor: string;
}

/** Visitor for whom a page calls routes. */
export type Caller = Pick<FastifyRequest, "id" | "ip" | "visitor" | "person">;

/** Copies a caller out of a request that may end before the caller's page does. */
export const callerOf = ({ id, ip, visitor, person }: FastifyRequest): Caller => ({ id, ip, visitor, person });

/** Call of a route. */
export interface ApiCall<Answer = unknown> {
  method: Route["method"] | "HEAD";
  path: string;
  query?: Readonly<Record<string, string | undefined>>;
  json?: unknown;
  headers?: Record<string, string>;
  /** Never set: carries the type of the answer's JSON. */
  answer?: Answer;
}

/** Input of a route's call. The body is what a person has entered: the route validates it. */
export type RouteCall<R extends Route> = ([ParamsIn<R>] extends [never]
  ? { params?: undefined }
  : { params: Readonly<Record<ParamsIn<R>, string>> }) & {
  query?: Partial<Readonly<Record<keyof QueryOf<R> & string, string | undefined>>>;
  body?: object | undefined;
};

/** Returns the call of a route. @throws HubError 404 for a parameter that can name nothing */
export function callTo<R extends Route>(route: R, { params, query, body }: RouteCall<R>): ApiCall<AnswerOf<R>> {
  let path: string;
  try {
    path = pathOf(route, ...([params] as unknown as PathParams<R>));
  } catch (error) {
    throw error instanceof SealiftError ? notFound("There is nothing of that name.") : error;
  }
  return {
    method: route.method,
    path,
    ...(query !== undefined && { query }),
    ...(body !== undefined && { json: body }),
  };
}

/**
 * Hub's own API, called in this process for a visitor: a page can do exactly what the visitor's key can, because the
 * same routes decide.
 */
export class Api {
  readonly #app: FastifyInstance;
  readonly #calls: WebCalls;

  constructor(app: FastifyInstance, calls: WebCalls) {
    this.#app = app;
    this.#calls = calls;
  }

  async send(request: Caller, { method, path, query = {}, json, headers }: ApiCall): Promise<ApiAnswer> {
    const given = Object.entries(query).filter((each): each is [string, string] => (each[1] ?? "") !== "");
    const search = given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
    const keyHash = request.visitor?.keyHash;
    const call: InjectOptions = {
      method,
      url: path + search,
      remoteAddress: request.ip,
      headers: {
        [HEADERS.requestId.toLowerCase()]: request.id,
        ...(keyHash !== undefined && this.#calls.headers(keyHash, request.person)),
        ...headers,
      },
      ...(json !== undefined && { payload: json as object }),
    };
    const { statusCode: status, headers: answered, rawPayload: bytes } = await this.#app.inject(call);
    return { status, headers: answered, bytes };
  }

  /** Reads the JSON of an answer. @throws HubError as the route answers it */
  async call<T>(request: Caller, call: ApiCall<T>): Promise<T> {
    const answer = await this.send(request, call);
    requireDone(answer);
    return (answer.bytes.length === 0 ? undefined : JSON.parse(answer.bytes.toString())) as T;
  }

  /** Reads one screen of an object whose names are ids, and the cursor of the next one. */
  async members<T>(request: Caller, call: ApiCall): Promise<{ records: [id: string, T][]; next: string | undefined }> {
    const answer = await this.send(request, call);
    requireDone(answer);
    const records = Object.entries(JSON.parse(answer.bytes.toString()) as Record<string, T>);
    return { records, next: answer.headers[NEXT]?.toString() };
  }

  /** Reads the page of a list that the address of the visitor's page names by a cursor. @param name of the cursor */
  async page<T>(request: FastifyRequest, call: ApiCall<Listed<T>>, name = "cursor"): Promise<Paged<T>> {
    const cursor = queryOf(request, name);
    return { ...(await this.call(request, { ...call, query: { ...call.query, cursor } })), cursor };
  }

  /** Calls a route like {@link call}; undefined where the key may not, or there is nothing that it may see. */
  async ask<T>(request: Caller, call: ApiCall<T>): Promise<T | undefined> {
    return unlessHidden(this.call(request, call));
  }
}

/** Returns an answer of the API; undefined where the key may not have it, or there is nothing that it may see. */
export async function unlessHidden<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof HubError && [401, 403, 404].includes(error.statusCode)) return undefined;
    throw error;
  }
}

/** Requires a successful answer. @throws HubError as the route answered it */
export function requireDone({ status, headers, bytes }: ApiAnswer): void {
  if (status < 400) return;
  const { error, code } = (bytes.length > 0 ? JSON.parse(bytes.toString()) : {}) as { error?: string; code?: Code };
  const wait = headers["retry-after"];
  throw new HubError(status, code ?? "hub_refused", error ?? "The hub refused it.", {
    ...(wait !== undefined && { headers: { "retry-after": String(wait) } }),
  });
}
