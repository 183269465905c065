import type { ParamsIn, Route } from "../route.ts";
import { segment } from "./segment.ts";

/**
 * Every path of the hub (docs/contract/README.md#addressing), built in one place. Names become segments by
 * {@link segment}.
 */

export const MOUNTS = {
  /** Of the hub itself: what watches it asks there. */
  root: "",
  plugins: "/app/marketplace",
  services: "/app/services",
  deployments: "/app/deployments",
  deploy: "/app/deploy",
  devkeys: "/devkeys",
  /** The same routes as `devkeys`, for hubs behind a proxy that passes only `/app`. */
  devkeysApp: "/app/devkeys",
} as const;

export type MarketplaceKind = "plugin" | "service";

/** The hub's root without trailing slashes ("A trailing slash is ignored"). */
export function baseUrl(url: string): string {
  return url.replace(/\/+$/, "");
}

/** Parameters of a route's path, where it has any. */
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

export const paths = {
  auth: () => `${MOUNTS.deploy}/v1/auth`,
  latestVersion: (project: string) => `${MOUNTS.deploy}/v1/projects/${segment(project)}/versions/latest`,
  artifact: (project: string, version: string) =>
    `${MOUNTS.deploy}/v1/projects/${segment(project)}/artifacts/${segment(version)}`,
  deltas: (project: string, version: string) => `${paths.artifact(project, version)}/deltas`,
  index: (project: string, version: string) => `${paths.artifact(project, version)}/index`,
  indexes: (project: string) => `${MOUNTS.deploy}/v1/projects/${segment(project)}/indexes`,
  authorize: () => `${MOUNTS.deploy}/v1/deployments/authorize`,
  reportProject: () => `${MOUNTS.deploy}/v1/deployments/report`,
  publish: (project: string) => `${MOUNTS.deploy}/v1/projects/${segment(project)}/publish`,
  projectHost: (project: string, host: string) => `${paths.projectHosts(project)}/${segment(host)}`,
  projectFleet: (project: string) => `${MOUNTS.deploy}/v1/projects/${segment(project)}/fleet`,
  projectHosts: (project: string) => `${MOUNTS.deploy}/v1/projects/${segment(project)}/hosts`,
  /** The expiring download of a stored artifact; only the hub itself builds it. */
  download: (artifact: string) => `${MOUNTS.deploy}/v1/downloads/${segment(artifact)}`,

  detail: (kind: MarketplaceKind, slug: string) =>
    kind === "plugin" ? `${MOUNTS.plugins}/plugins/${segment(slug)}` : `${MOUNTS.services}/services/${segment(slug)}`,
  install: (kind: MarketplaceKind, slug: string) => `${paths.detail(kind, slug)}/install`,
  grants: (kind: MarketplaceKind, slug: string) => `${paths.detail(kind, slug)}/grants`,
  grant: (kind: MarketplaceKind, slug: string, owner: string) => `${paths.grants(kind, slug)}/${segment(owner)}`,
  report: () => `${MOUNTS.deployments}/deployments/report`,
  host: (kind: MarketplaceKind, slug: string, host: string) => `${paths.hosts(kind, slug)}/${segment(host)}`,
  fleet: (kind: MarketplaceKind, slug: string) => `${MOUNTS.deployments}/deployments/${kind}/${segment(slug)}/fleet`,
  fleets: () => `${MOUNTS.deployments}/deployments/fleets`,
  marks: () => `${MOUNTS.deployments}/v1/marks`,
  changes: () => `${MOUNTS.deployments}/v1/changes`,
  hosts: (kind: MarketplaceKind, slug: string) => `${MOUNTS.deployments}/deployments/${kind}/${segment(slug)}/hosts`,

  apiKeys: () => `${MOUNTS.devkeys}/api-keys`,
  ownKey: () => `${MOUNTS.devkeys}/key`,
  hubFacts: () => `${MOUNTS.devkeys}/hub`,
  apiKey: (id: string) => `${MOUNTS.devkeys}/api-keys/${segment(id)}`,
  projects: () => `${MOUNTS.devkeys}/projects`,
  project: (id: string) => `${MOUNTS.devkeys}/projects/${segment(id)}`,
  deletion: (id: string) => `${paths.project(id)}/deletion`,
  transfer: (id: string) => `${paths.project(id)}/transfer`,
  versions: (id: string) => `${paths.project(id)}/versions`,
  webhooks: () => `${MOUNTS.devkeys}/webhooks`,
  webhook: (id: string) => `${paths.webhooks()}/${segment(id)}`,
  rollouts: (id: string) => `${paths.project(id)}/rollouts`,
  rollout: (id: string, rollout: string) => `${paths.rollouts(id)}/${segment(rollout)}`,
  hostLabels: (id: string, host: string) => `${paths.project(id)}/hosts/${segment(host)}/labels`,
  signers: (id: string) => `${paths.project(id)}/signers`,
  version: (id: string, version: string) => `${paths.versions(id)}/${segment(version)}`,
  versionYank: (id: string, version: string) => `${paths.version(id, version)}/yank`,
  versionDeprecation: (id: string, version: string) => `${paths.version(id, version)}/deprecation`,
  versionSignature: (id: string, version: string) => `${paths.version(id, version)}/signature`,
  versionRelease: (id: string, version: string) => `${paths.version(id, version)}/release`,
  signingKey: () => `${MOUNTS.devkeys}/signing-key`,
  audit: () => `${MOUNTS.devkeys}/audit`,
  quotas: () => `${MOUNTS.devkeys}/quotas`,
} as const;
