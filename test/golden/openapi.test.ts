import { createHash } from "node:crypto";
import t from "tap";
import { createRuntime } from "../../lib/runtime/runtime.ts";
import { golden } from "../support/golden.ts";
import { startHub } from "../support/hub/harness.ts";

interface Document {
  paths: Record<string, Record<string, Record<string, unknown> & { responses: Record<string, unknown> }>>;
}

/** A fragment found more often than this has its text once, at the end. */
const OFTEN = 4;

/** Writes a document with a line for each part of an operation. Fragments that many operations share stand once. */
function linesOf({ paths, ...head }: Document): string {
  const counts = new Map<string, number>();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses, ...rest }]) => {
      const parts = [...Object.entries(rest), ...Object.entries(responses)].map(
        ([name, part]) => [name, JSON.stringify(part)] as const,
      );
      for (const [, text] of parts) counts.set(text, (counts.get(text) ?? 0) + 1);
      return { name: `${method.toUpperCase()} ${path}`, parts };
    }),
  );
  const shared = [...counts].filter(([text, count]) => count > OFTEN && text.length > 40).map(([text]) => text);
  const nameOf = (text: string): string => `@${createHash("sha256").update(text).digest("hex").slice(0, 6)}`;
  const short = (text: string): string => (shared.includes(text) ? nameOf(text) : text);
  return [
    JSON.stringify(head),
    ...operations.flatMap(({ name, parts }) => [name, ...parts.map(([part, text]) => `  ${part} ${short(text)}`)]),
    ...shared.map((text) => `${nameOf(text)} ${text}`).toSorted(),
  ].join("\n");
}

t.test("the OpenAPI document of the hub is what it was", async (t) => {
  const hub = await startHub(t);
  const document = (await hub.call("GET", "/openapi.json", { key: null })).body as Document;
  const { paths } = document;
  for (const path of Object.keys(paths).filter((each) => each.startsWith("/app/devkeys/"))) {
    t.strictSame(paths[path], paths[path.slice("/app".length)], `${path} is the same without /app`);
    delete paths[path];
  }
  golden(t, "hub-openapi.txt", linesOf(document));
});

t.test("the OpenAPI document of a runtime without plugins is what it was", async (t) => {
  const runtime = await createRuntime({
    root: t.testdir({ plugins: {} }),
    configuration: { app: { secret_key: "a-plugin-key" }, observability: { logging: { level: "error" } } },
  });
  t.teardown(() => runtime.close());
  const answer = await runtime.app.inject({
    url: "/plugin/ipc/openapi.json",
    headers: { "x-plugin-key": "a-plugin-key" },
  });
  t.equal(answer.statusCode, 200);
  golden(t, "runtime-openapi.txt", linesOf(JSON.parse(answer.body) as Document));
});
