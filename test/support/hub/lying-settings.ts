/** Proxy between a real hub and its hosts: everything passes, streams too, but for what it is told to lie about. */
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Test } from "tap";

/** Routes that it can lie on. */
export type LiedRoute = "latest" | "own" | "card" | "outcome" | "hints" | "join" | "auth";

const ROUTES: [RegExp, LiedRoute][] = [
  [/\/versions\/latest$/, "latest"],
  [/\/host-settings$/, "own"],
  [/\/host-card$/, "card"],
  [/\/host-settings\/outcome$/, "outcome"],
  [/\/v1\/changes$/, "hints"],
  [/\/devkeys\/join$/, "join"],
  [/\/v1\/auth$/, "auth"],
];

/** Answer of the hub behind it, read whole. */
export interface Truth {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Answers a request in place of the hub. @param truth asks the hub */
export type Lie = (response: ServerResponse, truth: () => Promise<Truth>, request: IncomingMessage) => unknown;

export interface LyingSettings {
  url: string;
  /** Lies that are told from now on. */
  lies: Partial<Record<LiedRoute, Lie>>;
  /** Requests so far of a route. */
  count(route: LiedRoute): number;
  /** Ends the streams of hints that are open. */
  dropStreams(): void;
}

/** Answers with JSON. */
export const says =
  (body: unknown, status = 200): Lie =>
  (response) => {
    const text = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json" }).end(text);
  };

/** Answers as the hub does, with fields of its JSON changed. */
export const changes =
  (change: (body: Record<string, unknown>) => unknown): Lie =>
  async (response, truth, request) => {
    const { status, body } = await truth();
    const isLied = status === 200;
    const said = isLied ? change(JSON.parse(body.toString()) as Record<string, unknown>) : body;
    says(said, status)(response, truth, request);
  };

/** Status without more; 4xx and 5xx carry what a hub says then. */
export const status = (code: number, headers: Record<string, string> = {}): Lie => {
  const body = JSON.stringify({ error: "no", detail: "no", code: "forged" });
  return (response) =>
    response.writeHead(code, { "content-type": "application/json", ...headers }).end(code === 204 ? "" : body);
};

/** Answers without an end. */
export const endless: Lie = (response) => {
  response.writeHead(200, { "content-type": "application/json" });
  const more = (): void => {
    while (!response.destroyed && response.write("x".repeat(64 * 1024)));
  };
  response.on("drain", more);
  more();
};

const routeOf = (path: string): LiedRoute | undefined => ROUTES.find(([pattern]) => pattern.test(path))?.[1];

/** Sends a request on to the hub. */
function passed(hubUrl: string, request: IncomingMessage, body: Buffer, isLied: boolean): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { "if-none-match": known, ...headers } = request.headers;
    const kept = { ...headers, ...(known !== undefined && !isLied && { "if-none-match": known }) };
    const sent = ask(hubUrl + request.url!, { method: request.method!, headers: kept }, resolve);
    sent.once("error", reject).end(body);
  });
}

/** Starts one; it ends with the test. */
export async function startLyingSettings(t: Test, hubUrl: string): Promise<LyingSettings> {
  const asked: (LiedRoute | undefined)[] = [];
  const streams = new Set<ServerResponse>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const route = routeOf(request.url!.split("?")[0]!);
    asked.push(route);
    const sent = await buffer(request);
    const lie = route && wire.lies[route];
    if (lie !== undefined) {
      const truth = async (): Promise<Truth> => {
        const answer = await passed(hubUrl, request, sent, true);
        const headers = answer.headers as Record<string, string>;
        return { status: answer.statusCode!, headers, body: await buffer(answer) };
      };
      await lie(response, truth, request);
      return;
    }
    const answer = await passed(hubUrl, request, sent, false);
    response.writeHead(answer.statusCode!, answer.headers).flushHeaders();
    answer.pipe(response);
    if (route === "hints") streams.add(response);
    response.once("close", () => {
      answer.destroy();
      streams.delete(response);
    });
  };
  const server = createServer((request, response) => {
    response.on("error", () => {});
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const wire: LyingSettings = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lies: {},
    count: (route) => asked.filter((each) => each === route).length,
    dropStreams: () => streams.forEach((response) => response.destroy()),
  };
  return wire;
}
