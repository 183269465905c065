import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { serializerCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
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
import { nameRequest, traceOf } from "../../support/tracing/http-server.ts";
import { type Calls, RateFault } from "../calls/calls.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { RuntimeFault } from "../guest/fault.ts";
import type { Lifecycle } from "../lifecycle/lifecycle.ts";
import { asFault, sendFault } from "../router/error-answer.ts";
import { payloadOf, readCallBodies } from "./call-body.ts";
import { callAnswerer } from "./ipc-answer.ts";
import { openApi } from "./openapi.ts";

/** The system's routes of surface C, below `<prefix>/ipc` (docs/contract/runtime.md). */

export interface IpcOptions {
  settings: Integration;
  catalogue: Catalogue;
  lifecycle: Lifecycle;
  calls: Calls;
  health: () => Promise<HealthAnswer>;
  metrics: () => Promise<MetricsAnswer>;
  /** Refuses a request without the plugin key. */
  checkKey: (request: FastifyRequest) => RuntimeFault | undefined;
  isClosing: () => boolean;
}

const CALL_ROUTE = "/:plugin/:action";

interface CallParameters {
  plugin: string;
  action: string;
}

export function addIpcRoutes(parent: FastifyInstance, options: IpcOptions): void {
  const { calls, checkKey, isClosing } = options;
  // Before the body is read: a caller without the key learns nothing and costs nothing.
  parent.addHook("onRequest", (request, _reply, done) => done(checkKey(request)));
  // Calls that went well are answered past Fastify, and set these headers themselves.
  parent.addHook("onSend", (request, reply, _payload, done) => {
    reply.header(HEADERS.requestId, request.id);
    if (isClosing()) reply.header("connection", "close");
    done();
  });
  readCallBodies(parent);
  addSystemRoutes(parent, options);
  // With the key, as every route below `/ipc`. Else the wildcard route of plugins would answer, which asks for none.
  for (const path of ["/", "/*"])
    parent.all(path, ({ method, url }, reply) =>
      sendFault(reply, new RuntimeFault("not_found", `There is no route ${method} ${url}.`)),
    );

  const answer = callAnswerer(isClosing);
  const refuse = (request: FastifyRequest, reply: FastifyReply, error: unknown): void => {
    const fault = error instanceof RuntimeFault ? error : asFault(error as Error);
    if (fault instanceof RateFault) reply.header("retry-after", Math.ceil(fault.retryAfterSeconds));
    if (fault.code === "internal")
      request.log.error({ requestId: request.id, err: fault.cause ?? fault }, "a call failed");
    sendFault(reply, fault);
  };
  // Without async: an action that needs no promise is answered in the same turn of the loop.
  parent.post(CALL_ROUTE, (request: FastifyRequest<{ Params: CallParameters }>, reply): void => {
    const { plugin, action } = request.params;
    try {
      nameRequest(request.raw, CALL_ROUTE, request.id);
      const facts = { requestId: request.id, depth: 0, trace: traceOf(request.raw) };
      const result = calls.call(plugin, action, payloadOf(request.body), facts);
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

/** The routes that tell about plugins and manage them. What they answer is checked against the contract. */
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
  // Static segments win over `:action`: these words are the runtime's own, whatever the method, and never an action's.
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
