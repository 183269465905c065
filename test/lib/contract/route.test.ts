import t from "tap";
import * as z from "zod";
import { errorsOf, type Route } from "../../../lib/contract/route.ts";
import { contractRoutes } from "../../support/contract-routes.ts";

// Holds: which errors follow from what a route takes (lib/contract/route.ts)

const base = {
  method: "POST",
  mount: "devkeys",
  path: "/things",
  ok: { 201: z.null() },
  summary: "",
  tags: [],
} as const;
const open = { ...base, otherHosts: "none", who: { everyone: true } } as const satisfies Route;

t.test("the errors of a route follow from its credential, its path, its query and its body", (t) => {
  const errors = (facts: Partial<Route>): number[] => errorsOf({ ...open, ...facts }).toSorted();
  t.strictSame(errors({}), []);
  t.strictSame(errors({ who: { key: [] } }), [401], "any live key may call");
  t.strictSame(errors({ who: { optionalKey: true } }), [401], "a key that is not live is refused");
  t.strictSame(errors({ who: { session: ["read"] } }), [401, 403]);
  t.strictSame(errors({ who: { keyOrSession: ["read"] } }), [401, 403]);
  t.strictSame(errors({ who: { administrator: true, refusal: "" } }), [401, 403]);
  t.strictSame(errors({ path: "/things/:id" }), [404]);
  t.strictSame(errors({ path: "/things/:id", filters: true }), []);
  t.strictSame(errors({ query: z.object({}) }), [422]);
  t.strictSame(errors({ path: "/things/:id", params: z.object({ id: z.string().max(9) }) }), [404, 422]);
  t.strictSame(errors({ body: z.object({}) }), [400, 415, 422]);
  t.strictSame(errors({ errors: [409] }), [409]);
  t.end();
});

t.test("no route of the hub lists an error that follows", async (t) => {
  const routes = await contractRoutes();
  t.ok(routes.length > 140);
  for (const { errors = [], ...others } of routes) {
    const follow = errorsOf(others);
    const listed = errors.filter((status) => follow.includes(status));
    t.strictSame(listed, [], `${others.method} ${others.path}`);
  }
});
