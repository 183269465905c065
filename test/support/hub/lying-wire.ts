/** Proxy between a real hub and its hosts: everything passes, but for what is said of trust roots. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Test } from "tap";

/** Answers the request for one version of a root, however badly. */
export type RootAnswer = (response: ServerResponse, version: number) => void;

export interface LyingWire {
  url: string;
  /** Version that is named instead of the hub's; null for none. Undefined tells the truth. */
  named?: number | null | undefined;
  /** Answer to requests for versions of a root; undefined tells the truth. */
  root?: RootAnswer | undefined;
  /** Paths of the requests so far, in order. */
  paths: string[];
  /** Versions of roots that were asked for. */
  asked(): number[];
}

/** A body that is sent as JSON of an answer 200. */
export const sends =
  (body: string | Buffer, type = "application/json"): RootAnswer =>
  (response) => {
    response.writeHead(200, { "content-type": type, "content-length": Buffer.byteLength(body) }).end(body);
  };

/** The documents of a chain by their versions, and 404 for those that are not there. */
export const serves =
  (documents: Readonly<Record<number, string>>): RootAnswer =>
  (response, version) => {
    const text = documents[version];
    if (text === undefined) response.writeHead(404).end("{}");
    else sends(text)(response, version);
  };

const ROOT = /\/roots\/(\d+)$|\/(\d+)\.root\.json$/;

/** Headers of requests that matter to a hub. */
const PASSED = /^(?:x-api-key|authorization|content-type|if-none-match|x-sealift-.+)$/;

const versionIn = (path: string): number | undefined => {
  const found = ROOT.exec(path);
  return found === null ? undefined : Number(found[1] ?? found[2]);
};

/** Starts one in front of a hub; it ends with the test. Without a hub it is a web server that has roots alone. */
export async function startLyingWire(t: Test, hubUrl = "http://127.0.0.1:9"): Promise<LyingWire> {
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url!;
    wire.paths.push(path);
    const version = versionIn(path);
    if (version !== undefined && wire.root !== undefined) return wire.root(response, version);
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      const isHeld = name === "if-none-match" && wire.named !== undefined;
      if (PASSED.test(name) && typeof value === "string" && !isHeld) headers.set(name, value);
    }
    const method = request.method!;
    const sent = method === "GET" ? null : new Uint8Array(await buffer(request));
    const answer = await fetch(hubUrl + path, { method, headers, body: sent });
    let body: Buffer = Buffer.from(await answer.arrayBuffer());
    const isNaming = /\/versions\/latest$|\/artifacts\/[^/]+$/.test(path.split("?")[0]!);
    if (isNaming && answer.status === 200 && wire.named !== undefined) {
      const { root_version: _true, ...rest } = JSON.parse(body.toString()) as Record<string, unknown>;
      body = Buffer.from(JSON.stringify({ ...rest, ...(wire.named !== null && { root_version: wire.named }) }));
    }
    const kept = ["content-type", ...(wire.named === undefined ? ["etag"] : [])];
    const lines = kept.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    response.writeHead(answer.status, Object.fromEntries(lines));
    response.end(body);
  };
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const wire: LyingWire = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths: [],
    asked: () => wire.paths.flatMap((path) => versionIn(path) ?? []),
  };
  return wire;
}
