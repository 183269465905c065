import type { Test } from "tap";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import type { ProjectAccess, Publication, RunningHub, Signer } from "./harness.ts";

/** Markup in each form in which a page could take it for its own, and characters that end lines elsewhere. */
export const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(1)</script></title>'--!><svg/onload=alert(1)>\u2028`;
/** A host may have no spaces in its id. */
export const HOSTILE_HOST = `"><svg/onload=alert(1)><script>alert(1)</script>`;

export const AT = "2026-01-01T00:00:00.000Z";

export const later = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();

/** Values by their table and column. */
export type ByHand = Readonly<Record<string, Readonly<Record<string, string | number>>>>;

/** A hub whose core has a value in every column, for features to fill theirs. */
export interface Filling {
  t: Test;
  hub: RunningHub;
  /** Asks the hub as its administrator. @throws Error for any answer but 2xx */
  done: (method: string, path: string, rest?: Parameters<RunningHub["call"]>[2]) => Promise<{ id: string }>;
  /** A project with versions and a delta. */
  project: ProjectAccess;
  versions: readonly Publication[];
  signer: Signer;
  /** A project with the version 1.0.0 and one host, which runs it. */
  rolled: ProjectAccess;
  /** Reports as that host. */
  report: (version: string, status: "success" | "failed") => Promise<unknown>;
}

/** A hub with something to look at on each page of its core, for features to add theirs. */
export interface Showing {
  hub: Pick<RunningHub, "call">;
  project: ProjectAccess;
}

/** A hub to look at that also has the plugin `secret`, which is private and has the version 1.0.0. */
export interface Guarded {
  project: string;
  /** The plugin `tide-table` by its id, with the versions 1.0.0 to 1.3.0. */
  plugin: string;
  /** The private plugin by its id. */
  secret: string;
}

/** A hub with a plugin and a project, for features to have something in their lists. */
export interface Listing {
  hub: RunningHub;
  /** The plugin, `plugin:tides`, by its id. */
  plugin: string;
  /** The project by its id. */
  project: string;
  /** A folder for files. */
  folder: string;
}

/** Command lines of lists by their commands, and whether each has records to list. */
export type Lists = Readonly<Record<string, readonly [line: string, records: boolean]>>;

/** Additions of a feature to hubs that tests fill: to one with a value in every column, and to one to look at. */
export interface FeatureFill {
  /** Options that the hub needs for it. */
  options?: Partial<HubOptions>;
  /** Values that only time or other machines put into its tables: set where the routes left nothing. */
  byHand?: ByHand;
  fill?: (at: Filling) => Promise<void>;
  show?: (at: Showing) => Promise<void>;
  /** Its pages of the hub to look at, by name. */
  pages?: (projectId: string) => Readonly<Record<string, string>>;
  /** Paths of pages, each with the path of the route that answers the same keys. */
  rights?: (at: Guarded) => Readonly<Record<string, string>>;
  /** Its lists among the commands, after something was put into them. */
  lists?: (at: Listing) => Lists | Promise<Lists>;
}
