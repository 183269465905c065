import t from "tap";
import { sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";

const SOURCE = `
import { defineAction } from "sealift/sdk";
import { z } from "zod";
export default {
  actions: {
    greet: defineAction({ description: "Greets somebody", payload: z.object({ name: z.string() }), handler: () => 1 }),
    raw: { payload: { type: "object", required: ["a"] }, handler: () => 1 },
    free: () => 1,
  },
  routes: [
    { method: "GET", path: "/items/:id", permissions: ["items:read"], handler: () => 1 },
    { method: ["GET", "POST"], path: "/items", handler: () => 1 },
  ],
};`;

t.test("the OpenAPI document has every action with its schema, and the routes of plugins", async (t) => {
  const host = await startHost(t, {
    plugins: { boxed: sandboxed("boxed", SOURCE), inside: trusted("inside", SOURCE) },
  });
  t.match(await host.request("GET", "/plugin/ipc/openapi.json"), { status: 401 });
  const { status, body } = await host.system("GET", "/plugin/ipc/openapi.json");
  t.equal(status, 200);
  t.equal(body.openapi, "3.1.0");
  for (const plugin of ["boxed", "inside"]) {
    const payloadOf = (action: string): unknown =>
      body.paths[`/plugin/ipc/${plugin}/${action}`].post.requestBody.content["application/json"].schema.properties
        .payload;
    t.match(payloadOf("greet"), { type: "object", required: ["name"], properties: { name: { type: "string" } } });
    t.match(payloadOf("raw"), { type: "object", required: ["a"] });
    t.same(payloadOf("free"), {});
    t.equal(body.paths[`/plugin/ipc/${plugin}/greet`].post.summary, "Greets somebody");
  }
  for (const plugin of ["boxed", "inside"]) {
    t.match(body.paths[`/plugin/${plugin}/items/{id}`], {
      get: { security: [{ bearer: [] }], parameters: [{ name: "id" }] },
    });
    t.match(body.paths[`/plugin/${plugin}/items`], { get: { summary: "Public" }, post: {} });
  }
  t.match(body.paths, { "/plugin/ipc/status": {}, "/plugin/ipc/health": {}, "/plugin/ipc/metrics": {} });
});
