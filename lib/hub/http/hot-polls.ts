import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { type MarketplaceKind, MOUNTS } from "../../contract/surfaces/paths.ts";
import { nameRequest, traceIdOf } from "../../support/tracing/http-server.ts";
import { bearerIn, MAX_CREDENTIAL_CHARACTERS } from "../access/authentication.ts";
import { may } from "../access/principal.ts";
import { RATE_WINDOW_MS } from "../access/rate-limits.ts";
import type { HubContext } from "../context.ts";
import { hashOf } from "../ground/identity.ts";
import { findSession } from "../records/access.ts";
import { type Answer, whenAnswered } from "../records/port.ts";
import { findVisibleTarget } from "../records/visible-targets.ts";
import { isOverloaded } from "./load-shedding.ts";
import { matchesEtag } from "./ranges.ts";
import { requestId } from "./request-id.ts";
import { levelOf, logAnswered } from "./request-log.ts";

/**
 * The two requests that a fleet repeats, detail and latest, answered below the framework: its hooks and header objects
 * cost more than the statement does. Only a plain success is answered here, from the routes' own statements, so that a
 * key that is revoked is refused by the next poll; everything else is left to the routes, untouched
 * (docs/decisions/0014-hot-polls.md).
 */

/** A request that may be one of the two, with nothing about it that only the routes know how to treat. */
type Poll =
  | { of: "detail"; kind: MarketplaceKind; slug: string; secret: string | undefined }
  | { of: "latest"; projectId: string; secret: string };

interface Success {
  /** The pattern of the route that it is the answer of. */
  route: string;
  etag: string;
  body: string;
  /** Further headers in the order of the routes, and those that a 304 leaves out. */
  headers: readonly string[];
  headersOfBody: readonly string[];
}

const DETAIL = new RegExp(`^(?:${MOUNTS.plugins}/plugins|(${MOUNTS.services}/services))/([A-Za-z0-9_.-]+)$`);
const LATEST = new RegExp(`^${MOUNTS.deploy}/v1/projects/([A-Za-z0-9_]+)/versions/latest$`);
const ROUTES = {
  plugin: `${MOUNTS.plugins}/plugins/:slug`,
  service: `${MOUNTS.services}/services/:slug`,
  latest: `${MOUNTS.deploy}/v1/projects/:project_id/versions/latest`,
} as const;
const API_KEY = HEADERS.apiKey.toLowerCase();
const REQUEST_ID = HEADERS.requestId.toLowerCase();
const JSON_TYPE = "application/json; charset=utf-8";

const SAME_HEADERS = ["x-content-type-options", "nosniff", "cache-control", "private, no-cache"];
const HEADERS_OF = {
  detail: {
    headers: ["accept-ranges", "bytes", "vary", HEADERS.apiKey],
    headersOfBody: ["accept-ranges", "bytes", "content-type", JSON_TYPE, "vary", HEADERS.apiKey],
  },
  latest: { headers: [], headersOfBody: ["content-type", JSON_TYPE] },
} as const;

/** Headers that make a request more than a poll: a range, a body, a protocol of its own. */
const UNUSUAL = [
  HEADERS.host.toLowerCase(),
  "range",
  "if-range",
  "content-length",
  "transfer-encoding",
  "expect",
  "upgrade",
  "accept-version",
];

/** Reads a request as a poll. Returns undefined for everything that is not plainly one. */
export function pollOf({ method, url = "", headers, httpVersion }: IncomingMessage): Poll | undefined {
  if ((method !== "GET" && method !== "HEAD") || httpVersion !== "1.1") return undefined;
  for (const name of UNUSUAL) if (headers[name] !== undefined) return undefined;
  const key = headers[API_KEY];
  const { authorization } = headers;
  const detail = DETAIL.exec(url);
  if (detail !== null) {
    const isPlain = key === undefined ? authorization === undefined : isSecret(key);
    const kind = detail[1] === undefined ? "plugin" : "service";
    return isPlain ? { of: "detail", kind, slug: detail[2]!, secret: key as string | undefined } : undefined;
  }
  const latest = method === "GET" ? LATEST.exec(url) : null;
  const bearer = key === undefined ? bearerIn(authorization) : undefined;
  return latest !== null && isSecret(bearer) ? { of: "latest", projectId: latest[1]!, secret: bearer } : undefined;
}

const isSecret = (text: unknown): text is string =>
  typeof text === "string" && text !== "" && text.length <= MAX_CREDENTIAL_CHARACTERS;

/** Looks a poll up as its route does. Returns undefined for all but a success. */
function successOf(hub: HubContext, poll: Poll, credentialHash: string | undefined): Answer<Success | undefined> {
  const { statements } = hub.database;
  if (poll.of === "detail") {
    const { kind, slug } = poll;
    const question = { kind, slug, credentialHash, now: hub.now() };
    return whenAnswered(findVisibleTarget(statements, question), ({ principal, target }) => {
      if (target === undefined || (principal === undefined && credentialHash !== undefined)) return undefined;
      return { route: ROUTES[kind], etag: `"sha256-${target.etag}"`, body: target.detail, ...HEADERS_OF.detail };
    });
  }
  const { projectId } = poll;
  return whenAnswered(findSession(statements, credentialHash!, hub.now()), (session) => {
    if (session?.projectId !== projectId || !may(session.principal, "deploy", "read")) return undefined;
    const { latestVersion } = session;
    if (latestVersion === null) return undefined;
    const body = JSON.stringify({ version: latestVersion });
    return { route: ROUTES.latest, etag: `"${latestVersion}"`, body, ...HEADERS_OF.latest };
  });
}

/** @returns bytes of the answer's body */
function send(request: IncomingMessage, response: ServerResponse, id: string, success: Success): number {
  const { etag, body, headers, headersOfBody } = success;
  const common = [REQUEST_ID, id, ...SAME_HEADERS, "etag", etag];
  if (matchesEtag(request.headers["if-none-match"], etag)) {
    response.writeHead(304, [...common, ...headers]);
    response.end();
    return 0;
  }
  const length = Buffer.byteLength(body);
  response.writeHead(200, [...common, ...headersOfBody, "content-length", String(length)]);
  if (request.method === "HEAD") {
    response.end();
    return 0;
  }
  response.end(body);
  return length;
}

/** Stands before an app's routes. */
export class HotPolls {
  readonly #hub: HubContext;
  readonly #trustsProxies: boolean;
  #isDraining = false;

  /** @param trustsProxies whether the address of a request is for the framework to find out */
  constructor(hub: HubContext, { trustsProxies }: { trustsProxies: boolean }) {
    this.#hub = hub;
    this.#trustsProxies = trustsProxies;
  }

  /** Takes the first look at each request of the app's server. */
  attach(app: FastifyInstance): void {
    app.addHook("preClose", (done) => {
      // Answers of a hub that drains say Connection: close.
      this.#isDraining = true;
      done();
    });
    const [routes] = app.server.listeners("request") as [RequestListener];
    app.server.off("request", routes);
    app.server.on("request", (request, response) => {
      const poll = this.#isDraining || this.#sheds(app) ? undefined : pollOf(request);
      if (poll === undefined) return void routes(request, response);
      // The routes ask the database again, and tell what is wrong with it.
      const asRoute = (): void => void routes(request, response);
      let isAnswered: Answer<boolean>;
      try {
        isAnswered = this.#answer(poll, request, response);
      } catch {
        return asRoute();
      }
      if (isAnswered === true) return;
      if (isAnswered === false) return asRoute();
      isAnswered.then((is) => is || asRoute(), asRoute);
    });
  }

  /** Tells whether the routes should answer, which refuse while there is too much to do. */
  #sheds(app: FastifyInstance): boolean {
    return app.isUnderPressure() || isOverloaded(this.#hub.database);
  }

  /**
   * @returns whether the poll was answered; if not, nothing was written, and nothing counted that is within the limits
   */
  #answer(poll: Poll, request: IncomingMessage, response: ServerResponse): Answer<boolean> {
    const { rateLimits, rateCounts, logger } = this.#hub;
    const started = performance.now();
    const isLogged = logger?.isLevelEnabled(levelOf(request.method!, 200)) === true;
    if (this.#trustsProxies && (isLogged || poll.secret === undefined)) return false;
    const address = request.socket.remoteAddress ?? "";
    const credentialHash = poll.secret === undefined ? undefined : hashOf(poll.secret);
    const counter = credentialHash ?? address;
    const max = rateLimits?.requestsPerMinute || Infinity;
    if (max !== Infinity && !rateCounts.isBelow(counter, RATE_WINDOW_MS, max)) return false;

    const success = successOf(this.#hub, poll, credentialHash);
    return whenAnswered(success, (found) => {
      if (found === undefined) return false;
      // Others may have been counted meanwhile.
      if (max !== Infinity && rateCounts.count(counter, RATE_WINDOW_MS, max).current > max) return false;
      this.#send(request, response, found, { started, isLogged, address });
      return true;
    });
  }

  #send(
    request: IncomingMessage,
    response: ServerResponse,
    success: Success,
    { started, isLogged, address }: { started: number; isLogged: boolean; address: string },
  ): void {
    const { logger, metrics } = this.#hub;
    const id = requestId(request);
    const { method = "", url: path = "" } = request;
    if (logger !== undefined && isLogged) {
      response.once("finish", () => {
        const durationMs = performance.now() - started;
        const traceId = traceIdOf(request);
        logAnswered(logger, { requestId: id, traceId, method, path, status: response.statusCode, address, durationMs });
      });
    }
    const sentBytes = send(request, response, id, success);
    nameRequest(request, success.route, id);
    const { statusCode: status } = response;
    metrics.answered({ method, route: success.route, status, durationMs: performance.now() - started, sentBytes });
  }
}
