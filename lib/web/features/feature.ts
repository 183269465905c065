import type { Principal } from "../../hub/base/principal.ts";
import type { Screen } from "../page/context.ts";
import type { Tab, Way } from "../page/view.ts";

/** A page, or a form that leads on to one. */
export interface Page {
  method: "GET" | "POST";
  /** Its path with parameters, as Fastify has them. */
  path: string;
  /** Whether it needs no session. */
  isPublic?: boolean;
  /** Loads what makes it: a hub whose pages nobody opens does without React. */
  load: () => Promise<Screen>;
}

/**
 * A feature of the pages: what it shows, and the ways to it. The core of the pages knows this interface and no feature,
 * and a feature no other one; all ask the routes of the hub. `lib/web/features.ts` lists them.
 */
export interface WebFeature {
  name: string;
  pages: readonly Page[];
  /** Ways to it from every page. */
  ways?: readonly (Way & { isFor(principal: Principal): boolean })[];
  /** Ways to it from the pages of a target. */
  tabs?: readonly Tab[];
}

/** Returns what names pages whose screens stand in one module. */
export function pagesOf<Screens>(load: () => Promise<Screens>) {
  const page = (method: Page["method"]) => (path: string, screenOf: (screens: Screens) => Screen) => ({
    ...{ method, path },
    load: async () => screenOf(await load()),
  });
  return { get: page("GET"), post: page("POST") };
}
