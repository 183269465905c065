import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pluginId } from "../contract/identifiers.ts";
import {
  APP_SERVE_CODES,
  APP_SERVE_PATHS,
  APPLICATION_VERBS,
  type ApplicationStatus,
  type ApplicationVerb,
} from "../contract/surfaces/app-serve.ts";
import { ServeFault } from "./serve-fault.ts";

/** Applications, as the surface shows and commands them. */
export interface Controlled {
  statuses(): Promise<ApplicationStatus[]>;
  /** Asks by its health command whether it works. @param isFresh waits for an answer of now @returns why not */
  health(id: string, isFresh: boolean): Promise<string | null>;
  /** Resolves when it is done. @throws ServeFault */
  act(id: string, verb: ApplicationVerb): Promise<ApplicationStatus>;
}

const MAX_CONNECTIONS = 64;
const MAX_HEAD_BYTES = 8 * 1024;
/** Time for a whole request to arrive, in milliseconds. Answers may take as long as an application does. */
const REQUEST_LIMIT_MS = 5_000;

/**
 * Listens on a unix socket that only the user of this process may open.
 *
 * @param path of at most 107 bytes, in a folder that nobody else may enter
 */
export async function listenLocally(path: string, controlled: Controlled): Promise<AsyncDisposable> {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: REQUEST_LIMIT_MS,
      requestTimeout: REQUEST_LIMIT_MS,
      connectionsCheckingInterval: 1_000,
      keepAlive: false,
    },
    (request, response) => void answer(controlled, request, response),
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.on("clientError", (_error, socket) => socket.destroy());
  // Left by an earlier `app serve`, which has ended: the lock of the root is ours.
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, backlog: MAX_CONNECTIONS }, resolve);
  });
  await chmod(path, 0o600);
  return { [Symbol.asyncDispose]: () => close(server) };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function answer(controlled: Controlled, request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.on("error", () => undefined);
  response.on("error", () => undefined);
  // No route takes a body.
  request.once("data", () => request.destroy());
  let status = 200;
  let body: unknown;
  try {
    body = await route(controlled, request);
  } catch (thrown) {
    const { code, message } =
      thrown instanceof ServeFault ? thrown : new ServeFault("internal", (thrown as Error).message);
    status = APP_SERVE_CODES[code].status;
    body = { error: { code, message } };
  }
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

async function route(controlled: Controlled, { method, url = "" }: IncomingMessage): Promise<unknown> {
  if (method === "GET" && url === APP_SERVE_PATHS.status) return { applications: await controlled.statuses() };
  const [id = ""] = url.startsWith(`${APP_SERVE_PATHS.status}/`)
    ? url.slice(APP_SERVE_PATHS.status.length + 1).split("/")
    : [];
  const isHealth = APP_SERVE_PATHS.health(id) === url && pluginId.safeParse(id).success;
  if (isHealth && (method === "GET" || method === "POST"))
    return { fault: await controlled.health(id, method === "POST") };
  const known = APPLICATION_VERBS.find((one) => APP_SERVE_PATHS.act(id, one) === url);
  if (method !== "POST" || known === undefined || !pluginId.safeParse(id).success)
    throw new ServeFault("not_found", `There is no route ${method} ${url.slice(0, 200)}.`);
  return controlled.act(id, known);
}
