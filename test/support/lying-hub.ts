/** A hub for one project that can lie: it answers surface B properly until a route is told to misbehave. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Test } from "tap";
import type { ForgedArtifact } from "./forged-artifact.ts";

export type Route = "auth" | "latest" | "location" | "authorize" | "report" | "publish" | "download" | "other";

export interface HubRequest {
  route: Route;
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

/** Answers one request, however badly. `count` is how many came to this route before. */
export type Answer = (response: ServerResponse, request: HubRequest, count: number) => void;

export interface LyingHub {
  url: string;
  /** Every request so far, in order. */
  requests: HubRequest[];
  /** Requests to one route. */
  to(route: Route): HubRequest[];
  /** From now on this route gives these answers in turn, the last one again and again. */
  answer(route: Route, ...answers: Answer[]): void;
  /** Back to the truth on every route, with an empty memory. */
  repent(): void;
  /** The artifact that is served as the latest version. */
  artifact: ForgedArtifact;
  version: string;
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    const text = JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(text);
  };

export const redirect =
  (status: number, location: string | ((request: HubRequest, count: number) => string)): Answer =>
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

const ROUTES: [RegExp, Route][] = [
  [/\/v1\/auth$/, "auth"],
  [/\/versions\/latest$/, "latest"],
  [/\/artifacts\//, "location"],
  [/\/deployments\/authorize$/, "authorize"],
  [/\/deployments\/report$/, "report"],
  [/\/publish$/, "publish"],
  [/^\/download/, "download"],
];

const routeOf = (path: string): Route => ROUTES.find(([pattern]) => pattern.test(path.split("?")[0]!))?.[1] ?? "other";

/** The artifact's bytes as an honest server gives them: Range, If-Range, ETag. */
export function honestBytes(bytes: Buffer, etag: string | null = '"one"'): Answer {
  return (response, { headers }) => {
    const from = /^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1];
    const same = headers["if-range"] === undefined || headers["if-range"] === etag;
    const start = from !== undefined && same ? Number(from) : 0;
    const part = bytes.subarray(start);
    response.writeHead(start > 0 ? 206 : 200, {
      ...(etag !== null && { etag }),
      "content-type": "application/octet-stream",
      "content-length": part.length,
      ...(start > 0 && { "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    response.end(part);
  };
}

export interface LyingHubOptions {
  artifact: ForgedArtifact;
  version?: string;
  tls?: { key: Buffer; cert: Buffer };
}

export async function startLyingHub(t: Test, { artifact, version = "1.0.0", tls }: LyingHubOptions): Promise<LyingHub> {
  const scripts = new Map<Route, Answer[]>();
  const counts = new Map<Route, number>();
  const truth = (route: Route): Answer => {
    const base64 = (bytes: Buffer) => bytes.toString("base64");
    const { signature, publicKey, dek, file } = hub.artifact;
    switch (route) {
      case "auth":
        return json(200, { access_token: "session-token" });
      case "latest":
        return json(200, { version: hub.version });
      case "location":
        return json(200, {
          download_url: `${hub.url}/download?signed=yes`,
          signature: base64(signature),
          signer_public_key: base64(publicKey),
        });
      case "authorize":
        return json(200, { dek: base64(dek) });
      case "report":
        return json(200, { deployment_id: "recorded" });
      case "publish":
        return json(201, {
          artifact_id: "art_1",
          project_id: "prj_0123456789abcdef",
          version: "1.0.0",
          content_sha256: "0".repeat(64),
          size_bytes: file.length,
          created_at: "2026-01-01T00:00:00Z",
        });
      case "download":
        return honestBytes(file);
      case "other":
        return json(404, { error: "no such route" });
    }
  };
  const serve = (incoming: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("error", () => {});
    incoming.on("end", () => {
      const path = incoming.url!;
      const route = routeOf(path);
      const { method, headers } = incoming;
      const request: HubRequest = { route, method: method!, path, headers, body: Buffer.concat(chunks) };
      hub.requests.push(request);
      const count = counts.get(route) ?? 0;
      counts.set(route, count + 1);
      const script = scripts.get(route) ?? [];
      const answer = script[Math.min(count, script.length - 1)] ?? truth(route);
      answer(response, request, count);
    });
  };
  const server: Server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  const hub: LyingHub = {
    url: "",
    requests: [],
    artifact,
    version,
    to: (route) => hub.requests.filter((request) => request.route === route),
    answer: (route, ...answers) => {
      counts.delete(route);
      scripts.set(route, answers);
    },
    repent: () => {
      scripts.clear();
      counts.clear();
      hub.requests.length = 0;
    },
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  hub.url = `${tls === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return hub;
}

/** A certificate for 127.0.0.1 that this process trusts from now on. Needs the openssl program. */
export function trustedCertificate(t: Test): { key: Buffer; cert: Buffer } {
  const folder = t.testdir({});
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  execFileSync("openssl", ["req", ...kind, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const pem = readFileSync(cert);
  setDefaultCACertificates([...getCACertificates("default"), pem.toString()]);
  return { key: readFileSync(key), cert: pem };
}
