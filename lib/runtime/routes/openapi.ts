import * as z from "zod";
import {
  healthAnswer,
  metricsAnswer,
  runtimeErrorBody,
  runtimePaths,
  statusAnswer,
} from "../../contract/surfaces/runtime.ts";
import type { PluginSlot } from "../catalogue/plugin-slot.ts";

/** OpenAPI document of a runtime: the system's routes, and each loaded plugin's actions and routes. */

type Tree = Record<string, unknown>;

const ANYTHING = {};
const json = (schema: unknown): Tree => ({ content: { "application/json": { schema } } });
const schemaOf = (schema: z.ZodType): unknown => z.toJSONSchema(schema, { unrepresentable: "any", io: "output" });
const failure = { description: "An error", ...json({ $ref: "#/components/schemas/Error" }) };
const KEY = [{ pluginKey: [] }];

/** Converts a path to OpenAPI's form: `/items/:id` is `/items/{id}`. */
const openPath = (path: string): string => path.replaceAll(/:([A-Za-z0-9_]+)/g, "{$1}").replaceAll("*", "{wildcard}");
const parametersOf = (path: string): Tree[] =>
  [...openPath(path).matchAll(/\{([^}]+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));

function systemPaths(prefix: string): Tree {
  const paths = runtimePaths(prefix);
  const read = (summary: string, schema: z.ZodType): Tree => ({
    get: {
      tags: ["runtime"],
      summary,
      security: KEY,
      responses: { 200: { description: "OK", ...json(schemaOf(schema)) }, default: failure },
    },
  });
  return {
    [paths.status()]: read("Every plugin on disk", statusAnswer),
    [paths.health()]: read("Databases, cache, event loop and plugins", healthAnswer),
    [paths.metrics()]: read("The runtime's numbers", metricsAnswer),
  };
}

function pluginPaths({ name, instance }: PluginSlot, prefix: string): Tree {
  const document: Tree = {};
  for (const [action, { description, payload }] of instance?.describe().actions ?? []) {
    const answer = {
      type: "object",
      required: ["status", "plugin", "action", "result"],
      properties: { status: { const: "ok" }, plugin: { const: name }, action: { const: action }, result: ANYTHING },
    };
    document[runtimePaths(prefix).call(name, action)] = {
      post: {
        tags: [name],
        operationId: `${name}.${action}`,
        summary: description ?? action,
        security: KEY,
        requestBody: json({ type: "object", properties: { payload: payload ?? ANYTHING } }),
        responses: { 200: { description: "The action's result", ...json(answer) }, default: failure },
      },
    };
  }
  for (const { methods, path, permissions } of instance?.describe().routes ?? []) {
    const open = openPath(runtimePaths(prefix).route(name, path));
    const operations = (document[open] ?? {}) as Tree;
    for (const method of methods) {
      operations[method.toLowerCase()] = {
        tags: [name],
        summary: permissions === undefined ? "Public" : `Needs ${permissions.join(", ") || "a valid token"}`,
        ...(permissions !== undefined && { security: [{ bearer: [] }] }),
        parameters: parametersOf(path),
        responses: { default: { description: "What the plugin answers" } },
      };
    }
    document[open] = operations;
  }
  return document;
}

/** Returns the document as of now: plugins come and go. */
export function openApi(slots: readonly PluginSlot[], { title, prefix }: { title: string; prefix: string }): Tree {
  const loaded = slots.filter(({ instance }) => instance !== undefined);
  return {
    openapi: "3.1.0",
    info: { title, version: "1" },
    paths: Object.assign(systemPaths(prefix), ...loaded.map((slot) => pluginPaths(slot, prefix))) as Tree,
    components: {
      schemas: { Error: schemaOf(runtimeErrorBody) },
      securitySchemes: {
        pluginKey: { type: "apiKey", in: "header", name: "X-Plugin-Key" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}
