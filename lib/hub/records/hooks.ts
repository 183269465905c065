import type { ManagedVersion, ProjectContents } from "../../contract/surfaces/keys.ts";
import type { AuditEntry } from "./audit.ts";
import type { RollingVersion } from "./latest/gate.ts";
import type { Queries, Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
import type { IncomingReport } from "./reports.ts";
import type { AnyTable } from "./table.ts";

/** The bytes and versions that an upload adds to a project, plugin or service. */
export interface Upload {
  project: Pick<Project, "id" | "owner">;
  bytes: number;
  /** 1 for a version; 0 for a delta or an index. */
  versions: number;
}

/** A change of a target, in which features take part. */
export type TargetChange =
  | { what: "publish" | "yank" | "delete" | "release"; version: string }
  /** To another owner. */
  | { what: "transfer" };

/** The part that a feature takes in one transaction that changes a target. */
export interface TargetPart {
  /**
   * Runs after a change; for a release, before it.
   *
   * @returns whether it has changed the state of the version
   * @throws HubError when the change may not be
   */
  hear(change: TargetChange): Promise<boolean>;
  /**
   * Hears of the latest open version, when all changes are made.
   *
   * @returns the version that rolls; undefined for none
   */
  settle(latest: string | null): Promise<RollingVersion | undefined>;
}

/**
 * The part of a feature that takes part in the core's transactions, with or without a running server. The core runs
 * the hooks of all features in the order of their list; one that throws undoes the whole change.
 */
export interface RecordHooks {
  name: string;
  /** Tables of the feature, which refer to each other and to those of the core. */
  tables?: readonly AnyTable[];
  /** Decides whether an upload may be stored; the target's row is locked. @throws HubError for one that may not */
  admit?(transaction: Transacted, upload: Upload): Promise<void>;
  /** Begins its part in a change of a target, whose row is locked. @param now milliseconds since 1970 */
  onTarget?(transaction: Transacted, target: Project, now: number): TargetPart;
  /** SQL of a value that is another one after each change of what the feature keeps for a row of `projects p`. */
  pulse?: string;
  /** Runs for each entry of the audit log, in its transaction. @param now milliseconds since 1970 */
  onAudit?(db: Queries, entry: AuditEntry, now: number): Promise<void>;
  /** Hears of reports that are stored. @param reports of one view */
  onReports?(transaction: Transacted, reports: readonly IncomingReport[]): Promise<void>;
  /** Adds facts that the feature keeps of versions, by their ids, to a list for those who manage them. */
  listedOf?(db: Queries, versions: readonly string[]): Promise<ReadonlyMap<string, Partial<ManagedVersion>>>;
  /** Counts what the feature keeps for a project, plugin or service. */
  contentsOf?(db: Queries, project: Project): Promise<Partial<ProjectContents>>;
  /** Removes what the feature keeps for a project, plugin or service that is being deleted. */
  onDelete?(transaction: Transacted, project: Project): Promise<void>;
}

/** The hooks by the adapter of their connection, which its transactions share. */
const ofConnection = new WeakMap<object, readonly RecordHooks[]>();

/** Has the hooks run with every change that goes through a connection. */
export function carryHooks(db: Queries, hooks: readonly RecordHooks[]): void {
  ofConnection.set(db.getExecutor().adapter, hooks);
}

/** Returns the hooks of a connection or transaction. @throws Error when it was opened without: that is a mistake */
export function hooksOf(db: Queries): readonly RecordHooks[] {
  const hooks = ofConnection.get(db.getExecutor().adapter);
  if (hooks === undefined) throw new Error("The connection was opened without the features' hooks.");
  return hooks;
}

/** Requires that every feature lets an upload in. @throws HubError */
export async function admit(transaction: Transacted, upload: Upload): Promise<void> {
  for (const hooks of hooksOf(transaction)) await hooks.admit?.(transaction, upload);
}

/** Runs the hooks of all features for an entry of the audit log. @param now milliseconds since 1970 */
export async function runAuditHooks(db: Queries, entry: AuditEntry, now: number): Promise<void> {
  for (const hooks of hooksOf(db)) await hooks.onAudit?.(db, entry, now);
}
