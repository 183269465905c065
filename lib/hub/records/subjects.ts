import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { FleetKey } from "./fleet.ts";

/** Name of a target: a project is named by its id, a plugin or service by its slug. */
export type NamedTarget = { kind: "project"; id: string } | { kind: MarketplaceKind; slug: string };

/** Returns a target's name in the audit log, in reports and views: a project's id, `plugin/SLUG` or `service/SLUG`. */
export const subjectOf = (target: NamedTarget): string =>
  target.kind === "project" ? target.id : `${target.kind}/${target.slug}`;

/** SQL of the subject of a plugin or service whose row is `p`. */
export const SUBJECT_SQL = "p.kind || '/' || p.slug";

/** Returns a target as people write it: `project:ID`, `plugin:SLUG` or `service:SLUG`. */
export const targetOfSubject = (subject: string): string =>
  subject.includes("/") ? subject.replace("/", ":") : `project:${subject}`;

/** Returns the subject of a target as people write it. */
export const subjectOfTarget = (target: string): string =>
  target.startsWith("project:") ? target.slice("project:".length) : target.replace(":", "/");

/** Returns the fleet of a target: a project has one, a plugin or service one for each owner of hosts. */
export const fleetOf = (target: NamedTarget & { owner: string }): FleetKey => ({
  holder: target.kind === "project" ? "" : target.owner,
  target: subjectOf(target),
});
