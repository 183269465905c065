import { globSync } from "node:fs";
import type { Route } from "../../lib/contract/route.ts";

/** Returns every route of a hub that the contract describes. */
export async function contractRoutes(): Promise<Route[]> {
  const files = globSync("lib/contract/*/routes.ts").map((file) => import(`../../${file}`) as Promise<object>);
  return (await Promise.all(files)).flatMap(routesIn);
}

/** Returns the routes among the values of an object, those of both kinds, too. */
function routesIn(values: object): Route[] {
  return Object.values(values).flatMap((value: unknown) => {
    if (typeof value !== "object" || value === null || "_zod" in value) return [];
    return "method" in value && "path" in value ? [value as Route] : routesIn(value);
  });
}
