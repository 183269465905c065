import type { ParamsIn, Route } from "../route.ts";
import { segment } from "./segment.ts";

/** Prefixes of the hub's routes (docs/contract/README.md#addressing). */
export const MOUNTS = {
  /** Routes of the hub itself, for monitoring. */
  root: "",
  plugins: "/app/marketplace",
  services: "/app/services",
  deployments: "/app/deployments",
  deploy: "/app/deploy",
  devkeys: "/devkeys",
  /** Copies of the `devkeys` routes, for hubs behind a proxy that passes only `/app`. */
  devkeysApp: "/app/devkeys",
} as const;

export type MarketplaceKind = "plugin" | "service";

/** Returns the hub's root URL without trailing slashes ("A trailing slash is ignored"). */
export function baseUrl(url: string): string {
  return url.replace(/\/+$/, "");
}

/** Parameters of a route's path, if it has any. */
export type PathParams<R extends Pick<Route, "path">> = [ParamsIn<R>] extends [never]
  ? [params?: undefined]
  : [params: Readonly<Record<ParamsIn<R>, string>>];

/**
 * Returns the path of a route at a hub.
 *
 * @throws UsageError `usage` for a parameter that names nothing ({@link segment})
 */
export function pathOf<R extends Pick<Route, "mount" | "path">>(
  { mount, path }: R,
  ...[params]: PathParams<R>
): string {
  const named: Readonly<Record<string, string>> = params ?? {};
  return MOUNTS[mount] + path.replaceAll(/:(\w+)/g, (_, name: string) => segment(named[name]!));
}
