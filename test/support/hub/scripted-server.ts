/** A server that answers properly until one of its routes is told to misbehave. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";

export interface ScriptedRequest<Route extends string = string> {
  route: Route;
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

/** Answers one request, however badly. `count` is how many came to this route before. */
export type Answer<Route extends string = string> = (
  response: ServerResponse,
  request: ScriptedRequest<Route>,
  count: number,
) => void;

export interface ScriptedServer<Route extends string> {
  url: string;
  /** Every request so far, in order. */
  requests: ScriptedRequest<Route>[];
  /** Requests to one route. */
  to(route: Route): ScriptedRequest<Route>[];
  /** From now on this route gives these answers in turn, the last one again and again. */
  answer(route: Route, ...answers: Answer[]): void;
  /** Back to the truth on every route, with an empty memory. */
  repent(): void;
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    const text = JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(text);
  };

export const redirect =
  (status: number, location: string | ((request: ScriptedRequest, count: number) => string)): Answer =>
  (response, request, count) => {
    const to = typeof location === "string" ? location : location(request, count);
    response.writeHead(status, { location: to, "content-type": "text/html" });
    response.end("<html>moved</html>");
  };

export const html: Answer = (response) => {
  response.writeHead(200, { "content-type": "text/html" });
  response.end("<!doctype html><title>Sign in</title>");
};

/** Says nothing at all. */
export const stall: Answer = () => {};

/** Sends headers and the start of a body, then says no more. */
export const stallInBody =
  (start: string | Buffer, length = 1000): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    response.write(start);
  };

export const hangUp: Answer = (response) => response.destroy();

export interface Script<Route extends string> {
  /** Which route a path without its query belongs to; the others are "other". */
  routes: readonly (readonly [pattern: RegExp, route: Route])[];
  /** The answer of a route when nothing else is said. */
  truth: (route: Route | "other") => Answer;
  tls?: { key: string; cert: string };
}

/** Starts one on a free port; it ends with the test. */
export async function startScripted<Route extends string>(
  t: Test,
  { routes, truth, tls }: Script<Route>,
): Promise<ScriptedServer<Route | "other">> {
  const scripts = new Map<string, Answer[]>();
  const counts = new Map<string, number>();
  const requests: ScriptedRequest<Route | "other">[] = [];
  const serve = (incoming: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("error", () => {});
    response.on("error", () => {});
    incoming.on("end", () => {
      const path = incoming.url!;
      const route: Route | "other" = routes.find(([pattern]) => pattern.test(path.split("?")[0]!))?.[1] ?? "other";
      const request = { route, method: incoming.method!, path, headers: incoming.headers, body: Buffer.concat(chunks) };
      requests.push(request);
      const count = counts.get(route) ?? 0;
      counts.set(route, count + 1);
      const script = scripts.get(route) ?? [];
      const answer = script[Math.min(count, script.length - 1)] ?? truth(route);
      answer(response, request, count);
    });
  };
  const server: Server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    to: (route) => requests.filter((request) => request.route === route),
    answer: (route, ...answers) => {
      counts.delete(route);
      scripts.set(route, answers);
    },
    repent: () => {
      scripts.clear();
      counts.clear();
      requests.length = 0;
    },
  };
}
