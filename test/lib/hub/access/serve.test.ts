import fastify from "fastify";
import t from "tap";
import * as z from "zod";
import type { Route } from "../../../../lib/contract/route.ts";
import type { Authentication } from "../../../../lib/hub/access/authentication.ts";
import { addRoutes, serve } from "../../../../lib/hub/access/serve.ts";
import { forbidden, type HubError, unprocessable } from "../../../../lib/hub/ground/errors.ts";
import type { Principal } from "../../../../lib/hub/ground/principal.ts";
import { validatorCompiler } from "../../../../lib/hub/http/validation.ts";

const base = { method: "POST", mount: "devkeys", ok: { 201: z.object({}) }, summary: "", tags: [] } as const;

/** Serves one route to one key. @returns the status and message that it answers a body with */
async function ask(route: Route, principal: Partial<Principal>, body: object, work = () => Promise.resolve({})) {
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler as never);
  app.setSerializerCompiler(() => JSON.stringify);
  // Whoever is told the error is told all of it: the client its message, the log its stack.
  app.setErrorHandler<HubError>(({ statusCode = 500, message, stack }, _request, reply) =>
    reply.code(statusCode).send({ message, stack }),
  );
  const caller = { keyId: "key_1", owner: "someone", scopes: new Set(), projectId: null, ...principal };
  const authentication = { key: () => Promise.resolve(caller) } as unknown as Authentication;
  addRoutes(app, [serve(route, work)], authentication);
  const { statusCode: status, body: answer } = await app.inject({
    ...{ method: "POST", url: route.path, payload: body, headers: { "x-api-key": "k" } },
  });
  await app.close();
  return { status, answer };
}

t.test("a served route admits keys with one of its scopes, and refuses those that it excludes", async (t) => {
  const route: Route = { ...base, path: "/things", who: { key: ["projects", "read"], boundRefusal: "Bound." } };
  const read = new Set(["read"] as const);
  t.equal((await ask(route, { scopes: read }, {})).status, 201);
  t.match(await ask(route, { scopes: new Set(["deploy"]) }, {}), { status: 403, answer: /scope projects or read/ });
  t.match(await ask(route, { scopes: read, projectId: "prj_1" }, {}), { status: 403, answer: /Bound\./ });
  const any: Route = { ...base, path: "/things", who: { key: [] } };
  t.equal((await ask(any, { projectId: "prj_1" }, {})).status, 201);
});

t.test("a route for administrators refuses everybody else in its own words", async (t) => {
  const route: Route = { ...base, path: "/things", who: { administrator: true, refusal: "Not you." } };
  const admin = new Set(["admin"] as const);
  t.equal((await ask(route, { scopes: admin }, {})).status, 201);
  t.match(await ask(route, { scopes: admin, projectId: "prj_1" }, {}), { status: 403, answer: /Not you\./ });
  t.match(await ask(route, { scopes: new Set(["projects"]) }, {}), { status: 403, answer: /Not you\./ });
});

t.test("fields are judged before rights", async (t) => {
  const route: Route = { ...base, path: "/things", who: { key: ["projects"] }, body: z.strictObject({}) };
  t.equal((await ask(route, {}, { odd: 1 })).status, 422);
  t.equal((await ask(route, {}, {})).status, 403);
});

t.test("no message holds the value of a secret field", async (t) => {
  const who = { key: [] };
  const body = z.object({ url: z.string(), name: z.string() });
  const route: Route = { ...base, path: "/things", who, body, secret: ["url"] };
  const given = { url: "https://example.org/s3cret", name: "plain" };
  for (const make of [forbidden, unprocessable, (text: string) => new Error(text)]) {
    const { answer } = await ask(route, {}, given, () => Promise.reject(make(`${given.url} of ${given.name} failed.`)));
    t.match(answer, /\[redacted\] of plain failed/);
    t.notMatch(answer, /s3cret/);
  }
});
