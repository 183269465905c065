/** A hub of surface A that can lie: it answers properly until a route is told to misbehave, and signs whatever bytes it is given. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { type HubRequest, json } from "./lying-hub.ts";

export type MarketplaceRoute = "detail" | "install" | "report" | "hosts" | "other";

export interface MarketplaceRequest extends HubRequest {
  operation: MarketplaceRoute;
}

/** Answers one request, however badly. `count` is how many came to this route before. */
export type MarketplaceAnswer = (response: ServerResponse, request: MarketplaceRequest, count: number) => void;

export interface ServedRelease {
  version: string;
  bytes: Buffer;
  /** Headers instead of the true ones; null leaves one out. */
  headers?: Record<string, string | null>;
}

export interface MarketplaceHub {
  url: string;
  requests: MarketplaceRequest[];
  to(route: MarketplaceRoute): MarketplaceRequest[];
  /** From now on this route gives these answers in turn, the last one again and again. */
  answer(route: MarketplaceRoute, ...answers: MarketplaceAnswer[]): void;
  /** Back to the truth on every route, with an empty memory. */
  repent(): void;
  /** What is installed and what the detail route calls the latest version. */
  release: ServedRelease;
  /** The record's name, which is not the slug. */
  name: string;
}

export const MARKETPLACE_KEY = "slk_the-api-key-of-the-operator";
export const DEVELOPER_SECRET = "the developer's own signing secret";

export const signatureOf = (bytes: Uint8Array, secret = DEVELOPER_SECRET): string =>
  `hmac_sha256:${createHmac("sha256", secret).update(bytes).digest("hex")}`;

const ROUTES: [RegExp, MarketplaceRoute][] = [
  [/^\/app\/(marketplace\/plugins|services\/services)\/[^/]+$/, "detail"],
  [/^\/app\/(marketplace\/plugins|services\/services)\/[^/]+\/install$/, "install"],
  [/^\/app\/deployments\/deployments\/report$/, "report"],
  [/\/hosts$/, "hosts"],
];

const routeOf = (path: string): MarketplaceRoute =>
  ROUTES.find(([pattern]) => pattern.test(path.split("?")[0]!))?.[1] ?? "other";

/** The artifact as an honest hub sends it. */
export function honestInstall({ version, bytes, headers = {} }: ServedRelease): MarketplaceAnswer {
  return (response, { path }) => {
    const [, mount, , slug] = /^\/app\/(marketplace|services)\/(plugins|services)\/([^/]+)\//.exec(path) ?? [];
    const named = mount === "services" ? "x-service" : "x-plugin";
    const sent: Record<string, string | number | null> = {
      "content-type": "application/zip",
      "content-length": bytes.length,
      "x-signature": signatureOf(bytes),
      [named]: `${slug}@${version}`,
      "x-repo": `acme/${slug}@v${version}`,
      ...headers,
    };
    for (const [name, value] of Object.entries(sent)) if (value !== null) response.setHeader(name, value);
    response.end(bytes);
  };
}

export async function startMarketplaceHub(t: Test, release: ServedRelease): Promise<MarketplaceHub> {
  const scripts = new Map<MarketplaceRoute, MarketplaceAnswer[]>();
  const counts = new Map<MarketplaceRoute, number>();
  const truth = (route: MarketplaceRoute): MarketplaceAnswer => {
    switch (route) {
      case "detail":
        return json(200, { name: hub.name, latest_version: hub.release.version });
      case "install":
        return honestInstall(hub.release);
      case "report":
        return json(201, { id: "recorded" });
      case "hosts":
        return json(200, {});
      case "other":
        return json(404, { error: "no such route" });
    }
  };
  const serve = (incoming: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("error", () => {});
    response.on("error", () => {});
    incoming.on("end", () => {
      const path = incoming.url!;
      const operation = routeOf(path);
      const { method, headers } = incoming;
      const body = Buffer.concat(chunks);
      const request: MarketplaceRequest = { route: "other", operation, method: method!, path, headers, body };
      hub.requests.push(request);
      const count = counts.get(operation) ?? 0;
      counts.set(operation, count + 1);
      const script = scripts.get(operation) ?? [];
      const answer = script[Math.min(count, script.length - 1)] ?? truth(operation);
      answer(response, request, count);
    });
  };
  const server = createServer(serve);
  const hub: MarketplaceHub = {
    url: "",
    requests: [],
    release,
    name: "The Tide Table",
    to: (route) => hub.requests.filter(({ operation }) => operation === route),
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
  hub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return hub;
}
