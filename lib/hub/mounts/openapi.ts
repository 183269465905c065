import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { describeRoute } from "../http/documentation.ts";

/** Collects the documentation of every route registered after it. */
export async function documentRoutes(app: FastifyInstance, publicUrl: string | undefined): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Sealift hub",
        description:
          "Encrypted project deployments (deploy hub), plugins and services (marketplace), deployment reports and the key " +
          "service. Every error body is {error, detail, code}.",
        version: "1",
      },
      ...(publicUrl !== undefined && { servers: [{ url: publicUrl }] }),
      components: {
        securitySchemes: {
          apiKey: { type: "apiKey", in: "header", name: HEADERS.apiKey },
          session: { type: "http", scheme: "bearer" },
        },
      },
    },
    transform: describeRoute,
  });
}

/** Serves the collected documentation, generated once. */
export function openapi(app: FastifyInstance): void {
  let text: string | undefined;
  app.get("/openapi.json", { schema: { hide: true } }, (_request, reply) => {
    text ??= JSON.stringify(app.swagger());
    return reply.header("content-type", "application/json; charset=utf-8").send(text);
  });
}
