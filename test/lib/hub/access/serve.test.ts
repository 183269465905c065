import type {} from "@fastify/multipart";
import fastify, { type InjectOptions } from "fastify";
import t from "tap";
import * as z from "zod";
import type { Route } from "../../../../lib/contract/route.ts";
import { MOUNTS } from "../../../../lib/contract/surfaces/paths.ts";
import { addRoutes } from "../../../../lib/hub/access/add-routes.ts";
import type { Authentication } from "../../../../lib/hub/access/authentication.ts";
import { serve, type Served, serveRaw } from "../../../../lib/hub/access/serve.ts";
import { forbidden, type HubError, unprocessable } from "../../../../lib/hub/base/errors.ts";
import type { Principal } from "../../../../lib/hub/base/principal.ts";
import { validatorCompiler } from "../../../../lib/hub/http/validation.ts";

const closed = { method: "POST", mount: "devkeys", ok: { 201: z.object({}) }, summary: "", tags: [] } as const;
const base = { ...closed, otherHosts: "none" } as const;

/** Serves one route to one key. @returns the status and message that it answers a body with */
const ask = (route: Route, principal: Partial<Principal>, body: object, work = () => Promise.resolve({})) =>
  answerOf(serve(route, work), principal, { payload: body });

/** Serves one route to one key, which is behind its sessions, too. @returns the status and body of its answer */
async function answerOf(
  served: Served,
  principal: Partial<Principal>,
  { method = "POST", headers = { "x-api-key": "k" }, ...sent }: InjectOptions,
) {
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler as never);
  app.setSerializerCompiler(() => JSON.stringify);
  // Whoever is told the error is told all of it: the client its message, the log its stack.
  app.setErrorHandler<HubError>(({ statusCode = 500, message, stack }, _request, reply) =>
    reply.code(statusCode).send({ message, stack }),
  );
  const caller = { keyId: "key_1", owner: "someone", scopes: new Set(), projectId: null, ...principal };
  const session = () => Promise.resolve({ principal: caller, projectId: "prj_of_session" });
  const authentication = { key: () => Promise.resolve(caller), session, sessionOrKey: session };
  await addRoutes(app, [served], authentication as unknown as Authentication);
  const url = MOUNTS.devkeys + served.route.path;
  const { statusCode: status, body: answer } = await app.inject({ ...sent, method, url, headers });
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
  const route: Route = { ...closed, path: "/things", who: { administrator: true, refusal: "Not you." } };
  const admin = new Set(["admin"] as const);
  t.equal((await ask(route, { scopes: admin }, {})).status, 201);
  t.match(await ask(route, { scopes: admin, projectId: "prj_1" }, {}), { status: 403, answer: /Not you\./ });
  t.match(await ask(route, { scopes: new Set(["projects"]) }, {}), { status: 403, answer: /Not you\./ });
});

t.test("fields are judged before rights", async (t) => {
  const route: Route = { ...closed, path: "/things", who: { key: ["projects"] }, body: z.strictObject({}) };
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

t.test("sessions are admitted by the scopes of their key, and bring their project", async (t) => {
  for (const who of [{ session: ["deploy"] }, { keyOrSession: ["deploy"] }] as const) {
    const route = { ...base, path: "/things", who, ok: { 200: z.string() } } as const;
    const served = serve(route, (_request, { projectId }) => Promise.resolve(String(projectId)));
    t.match(await answerOf(served, { scopes: new Set(["deploy"]) }, {}), { status: 200, answer: /prj_of_session/ });
    t.match(await answerOf(served, { scopes: new Set(["read"]) }, {}), { status: 403, answer: /scope deploy/ });
  }
});

t.test("a key that is optional is asked for where there is one, and a route for everyone asks for none", async (t) => {
  const told = { ...base, path: "/things", ok: { 200: z.string() } } as const;
  const optional = serve({ ...told, who: { optionalKey: true } } as const, (_request, caller) =>
    Promise.resolve(caller?.owner ?? "nobody"),
  );
  t.match(await answerOf(optional, {}, {}), { answer: /someone/ });
  t.match(await answerOf(optional, {}, { headers: {} }), { answer: /nobody/ });
  const open = serve({ ...told, who: { everyone: true } } as const, (_request, caller) =>
    Promise.resolve(String(caller)),
  );
  t.match(await answerOf(open, {}, {}), { answer: /undefined/ });
});

t.test(
  "what finds a caller together with its question gets the scopes of the route, and finds for the handler",
  async (t) => {
    const route = { ...base, path: "/things/:name", who: { key: ["projects"] }, ok: { 200: z.string() } } as const;
    const served = serve(
      route,
      (request, scopes) => Promise.resolve(`${request.params.name} for ${scopes.join()}`),
      (_request, found) => Promise.resolve(found),
    );
    t.match(await answerOf(served, {}, {}), { status: 200, answer: /:name for projects/ });
  },
);

t.test("a raw route chooses its status", async (t) => {
  const route = { ...base, path: "/bytes", who: { key: [] } } as const;
  const served = serveRaw(route, (_request, reply) => reply.code(206).send("bytes"));
  t.match(await answerOf(served, {}, {}), { status: 206, answer: "bytes" });
});

t.test("the parts of a form are the handler's, and no other body comes to it", async (t) => {
  const route = { ...base, path: "/form", form: true, who: { key: [] }, body: z.object({ name: z.string() }) } as const;
  const served = serveRaw(route, async (request) => {
    for await (const part of request.parts()) if (part.type === "field") return part.value;
    return undefined;
  });
  const payload = '--b\r\ncontent-disposition: form-data; name="other"\r\n\r\nvalue\r\n--b--\r\n';
  const headers = { "x-api-key": "k", "content-type": "multipart/form-data; boundary=b" };
  t.match(await answerOf(served, {}, { headers, payload }), { status: 200, answer: /value/ });
  t.match(await answerOf(served, {}, { payload: { name: "x" } }), { status: 415 });
});
