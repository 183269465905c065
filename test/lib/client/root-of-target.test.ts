import { createServer } from "node:http";
import t from "tap";
import { callsOf } from "../../../lib/client/calls.ts";
import { rootOfTarget } from "../../../lib/client/trust-roots.ts";
import { publishRoot } from "../../../lib/contract/trust/routes.ts";

t.test(
  "a hub of 0.1.0, which has no trust roots, has none of a target, and is called old where it gets one",
  async (t) => {
    const server = createServer((request, response) => {
      const error = `There is no route ${request.method} ${request.url}.`;
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ error, detail: error, code: "not_found" }));
    });
    t.teardown(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const hub = { hubUrl: `http://127.0.0.1:${port}`, apiKey: "a key", timeoutMs: 60_000 };
    t.equal(await rootOfTarget(hub, "prj_1"), undefined);
    await t.rejects(callsOf({ publishRoot }, hub).publishRoot({ body: { root: "{}" } }), {
      ...{ code: "not_found", hint: /upgrade it/ },
      message:
        /^The hub http:\/\/127\.0\.0\.1:\d+ is older than this Sealift: it does not know POST \/devkeys\/roots\.$/,
    });
  },
);
