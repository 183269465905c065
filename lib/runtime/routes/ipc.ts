import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { serializerCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { DEFAULT_BODY_VALUES } from "../../contract/files/descriptor.ts";
import type { Integration } from "../../contract/files/integration.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import {
  type HealthAnswer,
  healthAnswer,
  LIFECYCLE_WORDS,
  lifecycleAnswer,
  type MetricsAnswer,
  metricsAnswer,
  statusAnswer,
} from "../../contract/surfaces/runtime.ts";
import { nameRequest, traceOf } from "../../support/work.ts";
import type { Calls } from "../calls/calls.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { mayPollute } from "../guest/json.ts";
import type { Lifecycle } from "../lifecycle/lifecycle.ts";
import { bodyTurns } from "../router/body-turns.ts";
import { requireFewValues } from "../router/body-values.ts";
import { asFault, sendFault } from "../router/error-answer.ts";
import { openApi } from "./openapi.ts";

/** System's routes of surface C, below `<prefix>/ipc` (docs/contract/runtime.md). */

export interface IpcOptions {
  settings: Integration;
  catalogue: Catalogue;
  lifecycle: Lifecycle;
  calls: Calls;
  health: () => Promise<HealthAnswer>;
  metrics: () => Promise<MetricsAnswer>;
  /** Rejects a request without the plugin key. */
  checkKey: (request: FastifyRequest) => RuntimeFault | undefined;
  isClosing: () => boolean;
}

const CALL_ROUTE = "/:plugin/:action";

interface CallParameters {
  plugin: string;
  action: string;
}

export function addIpcRoutes(parent: FastifyInstance, options: IpcOptions): void {
  const { calls, catalogue, checkKey, isClosing } = options;
  // Before the body is read: a caller without the key learns nothing and costs nothing.
  parent.addHook("onRequest", (request, _reply, done) => done(checkKey(request)));
  // Successful calls are answered without Fastify, and set these headers themselves.
  parent.addHook("onSend", (request, reply, _payload, done) => {
    reply.header(HEADERS.requestId, request.id);
    if (isClosing()) reply.header("connection", "close");
    done();
  });
  readCallBodies(
    parent,
    (plugin) => catalogue.find(plugin)?.descriptor?.runtime.max_body_values ?? DEFAULT_BODY_VALUES,
  );
  addSystemRoutes(parent, options);
  // With the key, like every route below `/ipc`. Otherwise the wildcard route of plugins would answer, which requires
  // none.
  for (const path of ["/", "/*"])
    parent.all(path, ({ method, url }, reply) =>
      sendFault(reply, new RuntimeFault("not_found", `There is no route ${method} ${url}.`)),
    );

  const answer = callAnswerer(isClosing);
  const refuse = (request: FastifyRequest, reply: FastifyReply, error: unknown): void => {
    const fault = error instanceof RuntimeFault ? error : asFault(error as Error);
    if (fault.code === "internal")
      request.log.error({ requestId: request.id, err: fault.cause ?? fault }, "a call failed");
    sendFault(reply, fault);
  };
  // Not async: an action that needs no promise is answered in the same turn of the loop.
  parent.post(CALL_ROUTE, (request: FastifyRequest<{ Params: CallParameters }>, reply): void => {
    const { plugin, action } = request.params;
    try {
      nameRequest(request.raw, CALL_ROUTE, request.id);
      const { payload, payloadText } = payloadOf(request.body as CallBody | undefined);
      const facts = { requestId: request.id, depth: 0, trace: traceOf(request.raw), payloadText };
      const result = calls.call(plugin, action, payload, facts);
      if (typeof result === "string") return answer(reply, plugin, action, result);
      result.then(
        (text) => answer(reply, plugin, action, text),
        (error: unknown) => refuse(request, reply, error),
      );
    } catch (error) {
      refuse(request, reply, error);
    }
  });
}

/** Adds the routes that show and manage plugins. Their answers are checked against the contract. */
function addSystemRoutes(
  parent: FastifyInstance,
  { settings, catalogue, lifecycle, health, metrics }: Omit<IpcOptions, "calls">,
): void {
  const app = parent.withTypeProvider<ZodTypeProvider>().setSerializerCompiler(serializerCompiler);
  app.get("/status", { schema: { response: { 200: statusAnswer } } }, async () => {
    await catalogue.scan();
    const plugins = catalogue.all.map((slot) => slot.status());
    return { plugins, count: plugins.length };
  });
  app.get("/health", { schema: { response: { 200: healthAnswer, 503: healthAnswer } } }, async (_request, reply) => {
    const answer = await health();
    return reply.code(answer.status === "unhealthy" ? 503 : 200).send(answer);
  });
  app.get("/openapi.json", () =>
    openApi(catalogue.all, { title: settings.app.name, prefix: settings.app.plugin_prefix }),
  );
  app.get("/metrics", { schema: { response: { 200: metricsAnswer } } }, () => metrics());
  // Static segments win over `:action`: these words belong to the runtime, whatever the method, and never to an action.
  for (const word of LIFECYCLE_WORDS) {
    app.route({
      method: word === "unload" ? ["DELETE", "POST"] : "POST",
      url: `/:plugin/${word}`,
      schema: { response: { 200: lifecycleAnswer } },
      handler: async (request) => {
        const { plugin } = request.params as { plugin: string };
        return { status: "ok" as const, msg: await lifecycle[word](plugin) };
      },
    });
  }
}

/** The body of a call: `{"payload": …}` (docs/contract/runtime.md). */
type CallBody = Payload | { whole: unknown };

interface Payload {
  payload: unknown;
  payloadText?: string;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Reads a body as JSON whatever its content type, and an empty one as absent: 415 is not a status of surface C.
 *
 * @param most returns the JSON values that a body for a plugin may have
 */
function readCallBodies(app: FastifyInstance, most: (plugin: string) => number): void {
  // Fastify rejects a type that it cannot parse before it looks for a parser.
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    raw.headers["content-type"] = "application/json";
    done();
  });
  app.removeAllContentTypeParsers();
  const parseWithCare = app.getDefaultJsonParser("error", "remove");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const bytes = body as Buffer;
    if (bytes.length === 0) return done(null, undefined);
    const { plugin = "" } = request.params as Partial<CallParameters>;
    bodyTurns.take(plugin, bytes.length, () => {
      try {
        requireFewValues(bytes, most(plugin));
        const text = bytes.toString();
        if (mayPollute(text)) void parseWithCare(request, text, (error, whole: unknown) => done(error, { whole }));
        else done(null, payloadIn(text) ?? { whole: JSON.parse(text) as unknown });
      } catch (error) {
        done(error as Error, undefined);
      }
    });
  });
}

const BEGINNING = '{"payload":';

/**
 * Reads the payload of a body that has nothing else, and keeps its text: sandboxes get it as it came. A text that is
 * one value between the key and the last brace has no second payload in it.
 *
 * @returns undefined for any other body
 */
function payloadIn(body: string): Payload | undefined {
  if (!body.startsWith(BEGINNING) || !body.endsWith("}")) return undefined;
  const payloadText = body.slice(BEGINNING.length, -1);
  try {
    const payload: unknown = JSON.parse(payloadText);
    return payload === null ? undefined : { payload, payloadText };
  } catch {
    return undefined;
  }
}

/** Returns the payload; an absent body or payload is an empty object. @throws RuntimeFault `bad_request` */
function payloadOf(body: CallBody | undefined): Payload {
  if (body === undefined) return { payload: {} };
  if ("payload" in body) return body;
  const { whole } = body;
  if (whole === null) return { payload: {} };
  if (!isObject(whole)) throw new RuntimeFault("bad_request", 'The body must be an object: {"payload": {…}}.');
  return { payload: whole["payload"] ?? {} };
}

const JSON_TYPE = "application/json; charset=utf-8";

/** Beginnings of answers, `{"status":"ok","plugin":…,"action":…,"result":`, by plugin and action, built once each. */
class AnswerPrefixes {
  readonly #texts = new Map<string, Map<string, string>>();

  of(plugin: string, action: string): string {
    let texts = this.#texts.get(plugin);
    if (texts === undefined) this.#texts.set(plugin, (texts = new Map<string, string>()));
    let text = texts.get(action);
    if (text === undefined) {
      text = `${JSON.stringify({ status: "ok", plugin, action }).slice(0, -1)},"result":`;
      texts.set(action, text);
    }
    return text;
  }
}

/** Answers a successful call, `result` being JSON already. */
type CallAnswerer = (reply: FastifyReply, plugin: string, action: string, result: string) => void;

/**
 * Returns a function that writes the answer of a call straight to the socket: for a text that is JSON already,
 * Fastify's own sending adds nothing and costs more than a trusted call.
 * @param isClosing tells whether connections end with their answer
 */
function callAnswerer(isClosing: () => boolean): CallAnswerer {
  const prefixes = new AnswerPrefixes();
  return (reply, plugin, action, result) => {
    const text = `${prefixes.of(plugin, action)}${result}}`;
    reply.hijack();
    const headers = ["content-type", JSON_TYPE, "content-length", String(Buffer.byteLength(text))];
    headers.push(HEADERS.requestId, reply.request.id);
    if (isClosing()) headers.push("connection", "close");
    reply.raw.writeHead(200, headers);
    reply.raw.end(text);
  };
}
