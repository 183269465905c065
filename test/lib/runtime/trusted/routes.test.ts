import t from "tap";
import { startHost, trusted } from "../../../support/runtime/host.ts";

t.test("a router of the plugin's own serves below its name, with bodies, parameters and any method", async (t) => {
  const source = `export default {
    router: async (app) => {
      app.get("/items", () => ["all"]);
      app.post("/items", (request, reply) => { reply.code(201); return { got: request.body, id: request.id }; });
      app.route({ method: "DELETE", url: "/items/:id", handler: (request) => ({ deleted: request.params.id, q: request.query }) });
      app.get("/fail", () => { throw new Error("secret detail"); });
    },
    routes: [{ method: ["GET", "PUT"], path: "/both", handler: (request, reply, context) => ({ method: request.method, plugin: context.plugin.name }) }],
  };`;
  const host = await startHost(t, { plugins: { plug: trusted("plug", source) } });
  t.same((await host.request("GET", "/plugin/plug/items")).body, ["all"]);
  const headers = { "content-type": "application/json", "x-request-id": "mine" };
  const posted = await host.request("POST", "/plugin/plug/items", { headers, body: '{"a":1}' });
  t.match(posted, { status: 201, body: { got: { a: 1 }, id: "mine" } });
  t.equal(posted.headers.get("x-request-id"), "mine");
  t.same((await host.request("DELETE", "/plugin/plug/items/7?x=1")).body, { deleted: "7", q: { x: "1" } });
  t.same((await host.request("PUT", "/plugin/plug/both")).body, { method: "PUT", plugin: "plug" });
  t.match(await host.request("GET", "/plugin/plug/nope"), {
    status: 404,
    body: { status: "error", code: "not_found" },
  });
  const failed = await host.request("GET", "/plugin/plug/fail");
  t.match(failed, { status: 500, body: { code: "internal" } });
  t.notMatch(failed.text, /secret detail/);
  t.match(await host.request("POST", "/plugin/plug/items", { headers, body: "{" }), {
    status: 400,
    body: { code: "bad_json" },
  });
});
