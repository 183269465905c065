import type * as z from "zod";
import { readJson } from "./answers.ts";
import { header, type HttpRequest, send, type Transport, transportError } from "./http.ts";
import { withRetries } from "./retry.ts";

/** Sends a request and reads its JSON answer; GETs are tried again (see {@link withRetries}). */
export async function call<T extends z.ZodType>(
  request: HttpRequest,
  schema: T,
  transport: Transport,
): Promise<z.output<T>> {
  return withRetries(request, transport, async () => {
    const response = await send(request, transport);
    try {
      return await readJson(response, request, schema);
    } catch (error) {
      throw transportError(error, request, response.url, transport);
    }
  });
}

/** Answer that may be unchanged since its ETag was seen. */
export type Conditional<T> = { changed: false } | { changed: true; value: T; etag: string | undefined };

/** Makes one GET with `If-None-Match`, without retries: a polling client asks again anyway. */
export async function callIfChanged<T extends z.ZodType>(
  request: HttpRequest,
  etag: string | undefined,
  schema: T,
  transport: Transport,
): Promise<Conditional<z.output<T>>> {
  const conditional =
    etag === undefined ? request : { ...request, headers: { ...request.headers, "if-none-match": etag } };
  const response = await send(conditional, transport);
  if (response.status === 304 && etag !== undefined) {
    response.discard();
    return { changed: false };
  }
  try {
    return {
      changed: true,
      value: await readJson(response, request, schema),
      etag: header(response, "etag"),
    };
  } catch (error) {
    throw transportError(error, request, response.url, transport);
  }
}
