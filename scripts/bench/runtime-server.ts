import { fastify } from "fastify";
import { createRuntime } from "../../lib/runtime/runtime.ts";
import { configuration } from "./runtime-project.ts";

/**
 * A server in a process of its own, so that the load generator shares no loop with it. Prints its port. Arguments:
 * `bare`, or `runtime ROOT`.
 */

const [kind, root = "."] = process.argv.slice(2);

/** Serves a call's path, body and answer with nothing behind it: no key, plugin, limits or metrics. */
async function bare(): Promise<string> {
  const app = fastify();
  app.post("/plugin/ipc/:plugin/:action", (request) => {
    const { plugin, action } = request.params as { plugin: string; action: string };
    return { status: "ok", plugin, action, result: (request.body as { payload: unknown }).payload };
  });
  return app.listen({ port: 0, host: "127.0.0.1" });
}

const url = kind === "bare" ? await bare() : await (await createRuntime({ configuration, root })).listen();
console.log(new URL(url).port);
