import { createContext, useContext } from "react";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { Principal } from "../../hub/base/principal.ts";

export type TargetKind = MarketplaceKind | "project";
export const TARGET_KINDS = ["plugin", "service", "project"] as const satisfies readonly TargetKind[];

/** A way that stands at the head of every page. */
export interface Way {
  title: string;
  path: string;
}

/** A way that stands at the head of the pages of one target. */
export interface Tab {
  title: string;
  /** The kinds of targets that have it. */
  kinds: readonly TargetKind[];
  path: (kind: TargetKind, slug: string) => string;
}

/** The facts that every part of a page may need. */
export interface View {
  /** The path below which a proxy shows the hub; empty for its root. */
  base: string;
  /** The path of the page, without the base. */
  path: string;
  principal: Principal | undefined;
  /** The ways through the hub that the visitor may go; none without a session. */
  ways: readonly Way[];
  /** The ways from a target to what features show of it. */
  tabs: readonly Tab[];
  /** The token of this page's forms. */
  formToken: string;
  assets: { style: string; script: string; icon: string };
  /** Milliseconds since 1970. */
  now: number;
  /** The address by which programs reach the hub. */
  hubUrl: string;
  /** The host of the identity provider that people sign in by, if there is one. */
  issuer: string | undefined;
}

export const ViewContext = createContext<View | undefined>(undefined);

export function useView(): View {
  const view = useContext(ViewContext);
  if (view === undefined) throw new Error("a part of a page stands outside of one");
  return view;
}

const segment = encodeURIComponent;

/** The addresses of pages, below the base. */
export const pagePaths = {
  home: () => "/",
  target: (kind: TargetKind, slug: string) => `/${kind}s/${segment(slug)}`,
  compare: (kind: MarketplaceKind, slug: string) => `${pagePaths.target(kind, slug)}/compare`,
  fleet: (kind: TargetKind, slug: string) => `${pagePaths.target(kind, slug)}/fleet`,
  host: (kind: TargetKind, slug: string, host: string) => `${pagePaths.fleet(kind, slug)}/${segment(host)}`,
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
