import type { SwaggerTransform } from "@fastify/swagger";
import type { FastifySchema } from "fastify";
import { jsonSchemaTransform } from "fastify-type-provider-zod";
import type * as z from "zod";
import type { pageQuery } from "../../contract/paging.ts";
import { errorBody } from "../../contract/route.ts";
import type { PageRange } from "../records/port.ts";

const MEANINGS: Record<number, string> = {
  400: "A malformed URL, Host, body or field, or a signature that does not verify.",
  401: "The key or token is missing, unknown, revoked or has expired.",
  403: "The key is valid but may not do this.",
  404: "There is no such thing, or none that the caller may know of.",
  409: "It contradicts what the hub already holds.",
  408: "The body has stopped.",
  413: "Larger than the hub accepts.",
  414: "A parameter of the path is too long.",
  415: "Not the content type that the route takes, or a body with a Content-Encoding.",
  416: "The range lies outside the bytes.",
  422: "A field is missing or has the wrong form; the message names it.",
  429: "Too many requests; Retry-After says when to come back.",
  500: "A defect of the hub; its log says more under the request id.",
  502: "The source host cannot be reached, or its answer is not an archive.",
  503: "Overloaded or not ready; try again later.",
  507: "The hub has no room left.",
};

const documentedErrors = new Map<number, z.ZodType>();

function errorSchema(status: number): z.ZodType {
  let schema = documentedErrors.get(status);
  if (schema === undefined) {
    schema = errorBody.describe(MEANINGS[status] ?? "An error.");
    documentedErrors.set(status, schema);
  }
  return schema;
}

/** Documents the error answers of a route beyond those of all routes ({@link describeRoute}). */
export function errors(...statuses: (keyof typeof MEANINGS)[]): Record<number, z.ZodType> {
  return Object.fromEntries([...statuses, 429, 500, 503].map((status) => [status, errorSchema(Number(status))]));
}

/** Returns the statuses of refusals before any route runs, by the parts that the request has. */
function sharedStatuses({ method, url, schema }: Parameters<SwaggerTransform<FastifySchema>>[0]["route"]): number[] {
  const hasBody = !["GET", "HEAD"].includes(String(method));
  const hasParameters = url.includes(":");
  const isChecked = hasParameters || schema?.querystring !== undefined || schema?.body !== undefined;
  return [
    ...[400, 415],
    ...(hasBody ? [408, 413, 507] : []),
    ...(hasParameters ? [414] : []),
    ...(isChecked ? [422] : []),
  ];
}

/** Documents a route, with the answers that all routes share. A route without a credential is open to everybody. */
export const describeRoute: SwaggerTransform<FastifySchema> = ({ schema, route, ...rest }) => {
  if (schema === undefined || schema.hide === true) return jsonSchemaTransform({ schema, route, ...rest });
  const response = { ...errors(...sharedStatuses(route)), ...(schema.response as object) };
  return jsonSchemaTransform({ schema: { security: [], ...schema, response }, route, ...rest });
};

/** Names of the credentials in OpenAPI, for @fastify/swagger. */
export const security = {
  key: [{ apiKey: [] }],
  session: [{ session: [] }],
  keyOrSession: [{ apiKey: [] }, { session: [] }],
  optionalKey: [{}, { apiKey: [] }],
};

/** Column by which a list is sorted, and the part of each row that is shown; by default all of it. */
interface Shown<By extends string, Row, Item> {
  by: By;
  show?: (row: Row) => Item;
}

/** Reads a page of a list, and one row more, which tells whether there is a next page. */
export async function pageOf<By extends string, Row extends Record<By, string>, Item = Row>(
  { limit, cursor }: z.output<typeof pageQuery>,
  { by, show = (row) => row as unknown as Item }: Shown<By, Row, Item>,
  read: (range: PageRange) => Promise<Row[]>,
): Promise<{ items: Item[]; next: string | null }> {
  const rows = await read({ after: cursor, limit: limit + 1 });
  const items = rows.slice(0, limit);
  return { items: items.map(show), next: rows.length > limit ? items.at(-1)![by] : null };
}
