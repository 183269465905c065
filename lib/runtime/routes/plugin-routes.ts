import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { IPC_SEGMENT } from "../../contract/surfaces/runtime.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { sendFault } from "../router/error-answer.ts";

/**
 * The one wildcard route that hands requests to the routers of trusted plugins. It runs before the body is read,
 * because the plugin's own Fastify instance reads it.
 */
export function addPluginRoutes(app: FastifyInstance, catalogue: Catalogue): void {
  const handOver = (request: FastifyRequest, reply: FastifyReply, next: () => void): void => {
    const { plugin } = request.params as { plugin: string };
    const handle = plugin === IPC_SEGMENT ? undefined : catalogue.find(plugin)?.instance?.handle;
    if (handle === undefined) return next();
    reply.hijack();
    // The plugin's instance makes the same id of the header, so that both logs tell of one request.
    request.raw.headers["x-request-id"] ??= request.id;
    handle(request.raw, reply.raw);
  };
  const notFound = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { plugin } = request.params as { plugin: string };
    const slot = catalogue.find(plugin);
    const fault =
      slot === undefined
        ? new RuntimeFault("plugin_not_found", `There is no plugin ${plugin}.`)
        : slot.instance === undefined
          ? new RuntimeFault("not_loaded", `The plugin ${plugin} is not loaded.`)
          : new RuntimeFault("not_found", `The plugin ${plugin} has no routes.`);
    return sendFault(reply, fault);
  };
  app.all("/:plugin", { onRequest: handOver }, notFound);
  app.all("/:plugin/*", { onRequest: handOver }, notFound);
}
