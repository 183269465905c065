import { globSync } from "node:fs";
import t from "tap";
import * as z from "zod";
import { errorsOf, type Route } from "../../../lib/contract/route.ts";

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
  const errors = (facts: Partial<Route>): number[] => errorsOf({ ...open, ...facts } as Route).toSorted();
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
  const files = globSync("lib/contract/*/routes.ts");
  t.ok(files.length > 20);
  for (const file of files) {
    const found = routesIn((await import(`../../../${file}`)) as object);
    for (const { errors = [], ...others } of found) {
      const follow = errorsOf(others as Route);
      const listed = errors.filter((status) => follow.includes(status));
      t.strictSame(listed, [], `${others.method} ${others.path}`);
    }
  }
});

/** Returns the routes among the values of an object, those of both kinds, too. */
function routesIn(values: object): Route[] {
  return Object.values(values).flatMap((value: unknown) => {
    if (typeof value !== "object" || value === null || "_zod" in value) return [];
    return "method" in value && "path" in value ? [value as Route] : routesIn(value);
  });
}
