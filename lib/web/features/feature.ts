import type { Principal } from "../../hub/base/principal.ts";
import type { Screen } from "../page/context.ts";
import type { NavigationLink, Tab } from "../page/view.ts";

/** Page, or a form that leads to one. */
export interface Page {
  method: "GET" | "POST";
  /** Path with parameters, in Fastify's form. */
  path: string;
  /** Whether it needs no session. */
  isPublic?: boolean;
  /** Loads its screen: a hub whose pages nobody opens never loads React. */
  load: () => Promise<Screen>;
}

/**
 * Feature of the pages: its pages and the links to them. The core of the pages knows this interface and no feature, and
 * a feature no other one; all call the routes of the hub. `lib/web/features.ts` lists them.
 */
export interface WebFeature {
  name: string;
  pages: readonly Page[];
  /** Links to it from every page. */
  links?: readonly (NavigationLink & { isFor(principal: Principal): boolean })[];
  /** Links to it from the pages of a target. */
  tabs?: readonly Tab[];
}

/** Returns a function that defines pages whose screens are in one module. */
export function pagesOf<Screens>(load: () => Promise<Screens>) {
  const page = (method: Page["method"]) => (path: string, screenOf: (screens: Screens) => Screen) => ({
    ...{ method, path },
    load: async () => screenOf(await load()),
  });
  return { get: page("GET"), post: page("POST") };
}
