import { createContext, useContext } from "react";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { Principal } from "../../hub/base/principal.ts";
import type { Refused } from "./refused.ts";

export type TargetKind = MarketplaceKind | "project";
export const TARGET_KINDS = ["plugin", "service", "project"] as const satisfies readonly TargetKind[];

/** Link at the top of every page. */
export interface NavigationLink {
  title: string;
  path: string;
  /** Whether it stands in the menu itself; the others are below "More". */
  isFirst?: boolean;
}

/** Link at the top of the pages of one target. */
export interface Tab {
  title: string;
  /** Kinds of targets that have it. */
  kinds: readonly TargetKind[];
  path: (kind: TargetKind, slug: string) => string;
  /**
   * Whether a visitor may open it.
   *
   * @param isControlled whether the visitor's key acts on the target
   */
  isFor: (principal: Principal, isControlled: boolean) => boolean;
}

/** Facts that any part of a page may need. */
export interface View {
  /** Path below which a proxy shows the hub; empty for its root. */
  base: string;
  /** Path of the page, without the base. */
  path: string;
  principal: Principal | undefined;
  /** Links for the visitor; none without a session. */
  links: readonly NavigationLink[];
  /** Links from a target to pages of features. */
  tabs: readonly Tab[];
  /** Token of this page's forms. */
  formToken: string;
  assets: { style: string; script: string; icon: string };
  /** Milliseconds since 1970. */
  now: number;
  /** Address at which programs reach the hub. */
  hubUrl: string;
  /** Host of the identity provider for signing in, if there is one. */
  issuer: string | undefined;
  /** Form of this page that the hub refused. */
  refused: Refused | undefined;
}

export const ViewContext = createContext<View | undefined>(undefined);

export function useView(): View {
  const view = useContext(ViewContext);
  if (view === undefined) throw new Error("a part of a page stands outside of one");
  return view;
}

const segment = encodeURIComponent;

/** Addresses of pages, below the base. */
export const pagePaths = {
  home: () => "/",
  target: (kind: TargetKind, slug: string) => `/${kind}s/${segment(slug)}`,
  compare: (kind: MarketplaceKind, slug: string) => `${pagePaths.target(kind, slug)}/compare`,
  fleet: (kind: TargetKind, slug: string) => `${pagePaths.target(kind, slug)}/fleet`,
  host: (kind: TargetKind, slug: string, host: string) => `${pagePaths.fleet(kind, slug)}/${segment(host)}`,
  applications: (projectId: string) => `${pagePaths.target("project", projectId)}/applications`,
  fleets: () => "/fleets",
  projects: () => "/projects",
  keys: () => "/keys",
  audit: () => "/audit",
  health: () => "/hub",
  signIn: () => "/sign-in",
  signOn: () => "/sign-in/oidc",
  signedOn: () => "/sign-in/oidc/callback",
  signOut: () => "/sign-out",
} as const;

/** Returns an address with a query; empty values are left out. */
export function withQuery(path: string, query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((each): each is [string, string] => (each[1] ?? "") !== "");
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
