import type { HostPublicKeys } from "../../artifact/sealed/host-key.ts";
import type { StatementRecord, StatementsAnswer } from "../../contract/statements/statements.ts";
import type { ManagedVersion, ProjectContents } from "../../contract/surfaces/keys.ts";
import type { AuditEntry } from "./audit.ts";
import type { FleetKey } from "./fleet.ts";
import type { RollingVersion } from "./latest/gate.ts";
import type { Locked } from "./locked.ts";
import type { Queries, Transacted, TransactedIn } from "./port.ts";
import type { Project } from "./projects.ts";
import type { StoredReport } from "./reports.ts";
import type { AnyTable } from "./table.ts";
import type { OwnerChange } from "./transfer.ts";
import type { Version } from "./versions.ts";

/** Bytes and versions that an upload adds to a project, plugin or service. */
export interface Upload {
  project: Pick<Project, "id" | "owner">;
  bytes: number;
  /** Bytes that count for its owner, where others of the same owner are brought at once; default `bytes`. */
  ownersBytes?: number;
  /** 1 for a version; 0 for a delta or an index. */
  versions: number;
}

/** Change of a target, in which features take part. */
export type TargetChange =
  | { what: "publish" | "yank" | "delete" | "release"; version: string }
  /** Transfer to another owner. */
  | { what: "transfer" };

/** Part that a feature takes in one transaction that changes a target. */
export interface TargetPart {
  /**
   * Called after a change; for a release, before it.
   *
   * @returns whether it has changed the state of the version
   * @throws HubError for a change that is not allowed
   */
  hear(change: TargetChange): Promise<boolean>;
  /**
   * Called with the latest open version, after all changes.
   *
   * @returns the rolling version; undefined for none
   */
  settle(latest: string | null): Promise<RollingVersion | undefined>;
}

/** Key of a host of a project, as a feature knows it. */
export interface KnownKey {
  host_id: string;
  /** Fingerprint of the host's public keys, hexadecimal. */
  fingerprint: string;
}

/**
 * Hooks of a feature in the core's transactions, with or without a running server. The core runs the hooks of all
 * features in the order of their list; one that throws undoes the whole change.
 */
export interface RecordHooks {
  name: string;
  /** Tables of the feature, which may refer to each other and to those of the core. */
  tables?: readonly AnyTable[];
  /** Decides whether an upload may be stored; the target's row is locked. @throws HubError for one that may not */
  admit?(transaction: Transacted, upload: Upload): Promise<void>;
  /** Starts the feature's part in a change of a target, whose row is locked. @param now milliseconds since 1970 */
  onTarget?(transaction: Transacted, target: Project, now: number): TargetPart;
  /** SQL expression that differs after each change of what the feature keeps for a row of `projects p`. */
  pulse?: string;
  /** Runs for each entry of the audit log, in its transaction. @param now milliseconds since 1970 */
  onAudit?(db: Queries, entry: AuditEntry, now: number): Promise<void>;
  /** Called with hosts that have entered a view; its row is locked. */
  onHosts?(transaction: Transacted, view: FleetKey, hostIds: readonly string[]): Promise<void>;
  /** Called with reports as they are stored. @param reports all of one view */
  onReports?(transaction: Transacted, reports: readonly StoredReport[]): Promise<void>;
  /** Returns the public keys of a host of a project; undefined where they are not known. */
  hostKeysOf?(db: Queries, projectId: string, hostId: string): Promise<HostPublicKeys | undefined>;
  /** Finds the hosts of a project that have one of the keys. @param keys at most 200 */
  hostsWithKeys?(db: Queries, projectId: string, keys: readonly HostPublicKeys[]): Promise<KnownKey[]>;
  /**
   * Returns the names of hosts for which the feature keeps something that a removal must end, as far as they are one of
   * the names in any case of A to Z.
   */
  hostsCalled?(db: Queries, projectId: string, names: readonly string[]): Promise<string[]>;
  /** Lists the statements of a version, in the order of their kinds. @param versionId of the version */
  statementsOf?(db: Queries, versionId: string): Promise<StatementRecord[]>;
  /** Adds the feature's facts about versions, by version id, to a list for managers. */
  listedOf?(db: Queries, versions: readonly string[]): Promise<ReadonlyMap<string, Partial<ManagedVersion>>>;
  /** Counts what the feature keeps for a project, plugin or service. */
  contentsOf?(db: Queries, project: Project): Promise<Partial<ProjectContents>>;
  /** Changes what the feature keeps for a project, plugin or service that goes to another owner. */
  onTransfer?<In>(transaction: TransactedIn<In>, project: Locked<Project, In>, transfer: OwnerChange): Promise<void>;
  /** Removes what the feature keeps for a project, plugin or service that is being deleted. */
  onDelete?<In>(transaction: TransactedIn<In>, project: Locked<Project, In>, now: string): Promise<void>;
}

/** Hooks by the adapter of their connection, which its transactions share. */
const ofConnection = new WeakMap<object, readonly RecordHooks[]>();

/** Runs the hooks with every change made through a connection. */
export function carryHooks(db: Queries, hooks: readonly RecordHooks[]): void {
  ofConnection.set(db.getExecutor().adapter, hooks);
}

/** Returns the hooks of a connection or transaction. @throws Error when it was opened without: that is a defect */
export function hooksOf(db: Queries): readonly RecordHooks[] {
  const hooks = ofConnection.get(db.getExecutor().adapter);
  if (hooks === undefined) throw new Error("The connection was opened without the features' hooks.");
  return hooks;
}

/** Requires that every feature admits an upload. @throws HubError */
export async function admitBytes(transaction: Transacted, upload: Upload): Promise<void> {
  for (const hooks of hooksOf(transaction)) await hooks.admit?.(transaction, upload);
}

/** Returns the public keys of a host of a project, as each feature that keeps some knows them. */
export async function keysOfHost(db: Queries, projectId: string, hostId: string): Promise<HostPublicKeys[]> {
  const known: HostPublicKeys[] = [];
  for (const hooks of hooksOf(db)) {
    const keys = await hooks.hostKeysOf?.(db, projectId, hostId);
    if (keys !== undefined) known.push(keys);
  }
  return known;
}

/** Finds the hosts of a project that have one of the keys, as features know them. @param keys at most 200 */
export async function hostsWithKeys(
  db: Queries,
  projectId: string,
  keys: readonly HostPublicKeys[],
): Promise<KnownKey[]> {
  const known: KnownKey[] = [];
  for (const hooks of hooksOf(db)) known.push(...((await hooks.hostsWithKeys?.(db, projectId, keys)) ?? []));
  return known;
}

/** Returns the facts of a version that policies of hosts rest on, and its statements. */
export async function statementsAbout(db: Queries, found: Version): Promise<StatementsAnswer> {
  const { id, version, created_at, approved_at, sha256, content_sha256, signer_public_key } = found;
  const statements: StatementRecord[] = [];
  for (const hooks of hooksOf(db)) statements.push(...((await hooks.statementsOf?.(db, id)) ?? []));
  const facts = { version, created_at, approved_at, signer_public_key };
  return { ...facts, artifact_sha256: sha256, content_sha256, statements };
}

/** Runs the hooks of all features for an entry of the audit log. @param now milliseconds since 1970 */
export async function runAuditHooks(db: Queries, entry: AuditEntry, now: number): Promise<void> {
  for (const hooks of hooksOf(db)) await hooks.onAudit?.(db, entry, now);
}
