/**
 * Request of a route as both execution modes have it. A trusted plugin gets Fastify's own, which has these parts and
 * more.
 */

export interface RouteRequest {
  readonly id: string;
  readonly method: string;
  /** Path and query, from the root of the runtime. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly params: unknown;
  readonly query: unknown;
  /**
   * Parsed JSON, or text. For other types a sandboxed plugin gets a readable stream; a trusted one has to add a parser
   * in its `router`.
   */
  readonly body: unknown;
  /** Verified claims of the bearer token, on routes that declare permissions. */
  readonly claims: Readonly<Record<string, unknown>> | null;
}

export interface RouteReply {
  readonly statusCode: number;
  readonly sent: boolean;
  code(status: number): this;
  status(status: number): this;
  header(name: string, value: string | number | string[]): this;
  headers(values: Record<string, string | number | string[]>): this;
  getHeader(name: string): number | string | string[] | undefined;
  type(contentType: string): this;
  redirect(url: string, status?: number): this;
  /** Sends text, bytes, a stream, or anything else as JSON. A handler's return value is sent the same way. */
  send(payload?: unknown): this;
}
