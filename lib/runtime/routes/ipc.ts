import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import type { HealthAnswer, MetricsAnswer, StatusAnswer } from "../../contract/surfaces/runtime.ts";
import { type Calls, RateFault } from "../calls/calls.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { mayPollute } from "../guest/json.ts";
import type { Plugins } from "../lifecycle/plugins.ts";
import { asFault, sendFault } from "./error-answer.ts";

/** The system's routes of surface C, below `<prefix>/ipc` (docs/contract/runtime.md). */

export interface IpcOptions {
  plugins: Plugins;
  calls: Calls;
  health: () => Promise<HealthAnswer>;
  metrics: () => Promise<MetricsAnswer>;
  /** Refuses a request without the plugin key. */
  checkKey: (request: FastifyRequest) => RuntimeFault | undefined;
  isClosing: () => boolean;
}

interface PluginParameters {
  plugin: string;
}
interface CallParameters extends PluginParameters {
  action: string;
}

const JSON_TYPE = "application/json; charset=utf-8";
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The payload of a call's body; an absent body or payload is an empty object. */
function payloadOf(body: unknown): unknown {
  if (body === undefined || body === null) return {};
  if (!isObject(body)) throw new RuntimeFault("bad_request", 'The body must be an object: {"payload": {…}}.');
  return body["payload"] ?? {};
}

/** `{"status":"ok","plugin":…,"action":…,"result":` by plugin and action: the same text call after call. */
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

export function addIpcRoutes(
  app: FastifyInstance,
  { plugins, calls, health, metrics, checkKey, isClosing }: IpcOptions,
): void {
  const prefixes = new AnswerPrefixes();

  // Before the body is read: a caller without the key learns nothing and costs nothing.
  app.addHook("onRequest", (request, _reply, done) => done(checkKey(request)));
  // Calls that went well are answered past Fastify, and set these headers themselves.
  app.addHook("onSend", (request, reply, _payload, done) => {
    reply.header(HEADERS.requestId, request.id);
    if (isClosing()) reply.header("connection", "close");
    done();
  });

  // A call's body is JSON whatever its content type says, and may be empty: 415 is none of surface C's statuses.
  app.removeAllContentTypeParsers();
  const parseWithCare = app.getDefaultJsonParser("error", "remove");
  app.addContentTypeParser(["application/json", "*"], { parseAs: "string" }, (request, body, done) => {
    const text = body as string;
    if (text === "") return done(null, undefined);
    if (mayPollute(text)) return void parseWithCare(request, text, done);
    try {
      done(null, JSON.parse(text));
    } catch (error) {
      done(error as Error, undefined);
    }
  });

  app.get("/status", async (): Promise<StatusAnswer> => {
    await plugins.scan();
    const statuses = plugins.all.map((slot) => slot.status());
    return { plugins: statuses, count: statuses.length };
  });

  app.get("/health", async (_request, reply) => {
    const answer = await health();
    return reply.code(answer.status === "unhealthy" ? 503 : 200).send(answer);
  });

  app.get("/metrics", () => metrics());

  const lifecycle =
    (change: (name: string) => Promise<string>) => async (request: FastifyRequest<{ Params: PluginParameters }>) => {
      const msg = await change(request.params.plugin);
      return { status: "ok", msg };
    };
  // Static segments win over `:action`, so an action called `load` is never reached (docs/contract/README.md).
  app.post(
    "/:plugin/load",
    lifecycle((name) => plugins.load(name)),
  );
  app.post(
    "/:plugin/reload",
    lifecycle((name) => plugins.reload(name)),
  );
  app.delete(
    "/:plugin/unload",
    lifecycle((name) => plugins.unload(name)),
  );
  // The word is the runtime's own, whatever the method: never an action of that name.
  app.post(
    "/:plugin/unload",
    lifecycle((name) => plugins.unload(name)),
  );

  const refuse = (request: FastifyRequest, reply: FastifyReply, error: unknown): void => {
    const fault = error instanceof RuntimeFault ? error : asFault(error as Error);
    if (fault instanceof RateFault) reply.header("retry-after", Math.ceil(fault.retryAfter));
    if (fault.code === "internal")
      request.log.error({ requestId: request.id, err: fault.cause ?? fault }, "a call failed");
    sendFault(reply, fault);
  };

  // Without async: an action that needs no promise is answered in the same turn of the loop.
  app.post("/:plugin/:action", (request: FastifyRequest<{ Params: CallParameters }>, reply: FastifyReply): void => {
    const { plugin, action } = request.params;
    // Straight to the socket: there is nothing left that Fastify's way of sending would do for a text that is JSON already.
    const answer = (result: string): void => {
      const text = `${prefixes.of(plugin, action)}${result}}`;
      reply.hijack();
      const headers = ["content-type", JSON_TYPE, "content-length", String(Buffer.byteLength(text))];
      headers.push(HEADERS.requestId, request.id);
      if (isClosing()) headers.push("connection", "close");
      reply.raw.writeHead(200, headers);
      reply.raw.end(text);
    };
    try {
      const result = calls.call(plugin, action, payloadOf(request.body), { requestId: request.id, depth: 0 });
      if (typeof result === "string") answer(result);
      else result.then(answer, (error: unknown) => refuse(request, reply, error));
    } catch (error) {
      refuse(request, reply, error);
    }
  });
}
