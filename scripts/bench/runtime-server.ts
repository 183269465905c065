import { fastify } from "fastify";
import { createRuntime } from "../../lib/runtime/runtime.ts";
import { configuration } from "./runtime-project.ts";

/** A server in a process of its own, for the load generator to share no loop with: `bare`, or `runtime ROOT`. */

const [kind, root = "."] = process.argv.slice(2);

async function bare(): Promise<string> {
  const app = fastify();
  app.post("/call", (request) => ({ status: "ok", result: (request.body as { payload: unknown }).payload }));
  return app.listen({ port: 0, host: "127.0.0.1" });
}

const url = kind === "bare" ? await bare() : await (await createRuntime({ configuration, root })).listen();
process.send?.(url);
process.on("disconnect", () => process.exit(0));
