import t from "tap";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";

interface Operation {
  security?: unknown[];
  responses: Record<string, { content?: Record<string, unknown> }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
}

const BROKEN = "{not json";
const JSON_TYPE = { "content-type": "application/json" };

/** Requests with which something is wrong, for every route. */
const REQUESTS: Record<string, { headers?: Record<string, string>; body?: string; key?: null }> = {
  "nothing but the path": {},
  "no key": { key: null },
  "a broken body": { headers: JSON_TYPE, body: BROKEN },
  "an empty object": { headers: JSON_TYPE, body: "{}" },
  "a body of another kind": { headers: { "content-type": "text/plain" }, body: "x" },
  "an encoded body": { headers: { ...JSON_TYPE, "content-encoding": "gzip" }, body: "{}" },
};
const SEGMENTS = ["none", "%00", "%zz", "x".repeat(1025)];

t.test("every status that a wrong request gets is in the OpenAPI document", async (t) => {
  const databaseUrl = await startPostgres(t);
  const hub = await startHub(t, { rateLimits: false, ...(databaseUrl !== undefined && { databaseUrl }) });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const document = (await hub.call("GET", "/openapi.json")).body as unknown as Document;
  const missing = new Set<string>();
  let asked = 0;
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { responses, security }] of Object.entries(operations)) {
      const name = `${method.toUpperCase()} ${path}`;
      const isEndless = responses["200"]?.content?.["text/event-stream"] !== undefined;
      t.ok(Array.isArray(security), `${name} says whether it needs a key`);
      for (const segment of path.includes("{") ? SEGMENTS : [""])
        for (const [what, { key, ...request }] of Object.entries(REQUESTS)) {
          if (method === "get" && (request.body !== undefined || isEndless)) continue;
          const where = path.replaceAll(/\{[^}]+\}/g, segment);
          const asks = { ...request, ...(key === null && { key }) };
          const { status } = await hub.call(method.toUpperCase(), where, asks).catch(() => ({ status: 0 }));
          asked += 1;
          if (status !== 0 && !(String(status) in responses))
            missing.add(`${name} (${segment.slice(0, 5)}) answers ${what} with ${status}`);
        }
    }
  t.strictSame([...missing], []);
  t.ok(asked > 500, `${asked} requests`);
});
