import type { Limits } from "../../artifact/limits.ts";
import type { TreeListing } from "../../artifact/tree/tree-listing.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import type { Deprecation } from "../../contract/facts/version.ts";
import type { InstallPlan } from "../../contract/files/install-plan.ts";
import type { StatementsAnswer } from "../../contract/statements/statements.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import type { TargetName } from "../../contract/target.ts";
import type { FetchedAhead } from "../../releases/ahead.ts";
import type { Layout } from "../../releases/layout.ts";
import type { Emit } from "../base/events.ts";
import type { PlanOrigin } from "../base/plan.ts";
import type { Reporter } from "../base/reporter.ts";
import type { SignerTrust } from "./trust.ts";

/** Version that a source has found, before any of its bytes. */
export interface Resolved {
  version: string;
  /**
   * Distinguishes two artifacts of one version, so that the same one is not installed twice. Null when only the bytes
   * can tell.
   */
  identity: string | null;
  /**
   * Whether its bytes are verified even where this artifact runs already, and nothing is replaced: so a newer kit of it
   * is accepted.
   */
  mustVerify?: boolean;
  /** Advice against the version, if the hub has any. */
  deprecated?: Deprecation | undefined;
  /** Fetches, verifies and unpacks this version. */
  fetch(context: FetchContext): Promise<Fetched>;
}

/** Verified tree in staging, with its facts. */
export interface Fetched {
  plan: InstallPlan;
  planOrigin: PlanOrigin;
  /** Path of the unpacked tree. */
  tree: string;
  /** Id → default folder in the tree, and the names that its environment must or may have. */
  plugins: Map<
    string,
    { folder: string; requiredEnvironment: readonly string[]; optionalEnvironment: readonly string[] }
  >;
  extensions: Map<string, { folder: string }>;
  /** Ids of applications, in `apps/<id>`. Only projects have them. */
  apps?: ReadonlySet<string>;
  /** Files of the tree's root that the release keeps for people to read. */
  keep: readonly string[];
  identity: string;
  /** Digest of a project's tree, by which it can be the base of a delta; null for a plugin or service. */
  contentSha256: string | null;
  /** Files and empty folders as they were unpacked. */
  listing: TreeListing;
  artifactSha256: string | null;
  /** Trusted Ed25519 key that has signed it, hexadecimal; null for an archive without a required signature. */
  signer: string | null;
  repo: string | null;
  /** Plugin entries of the manifest, for the report to the hub. */
  reported: readonly Record<string, unknown>[];
  /** Remembers what has been verified: a signer trusted on first use, a signing secret. */
  remember?: () => Promise<void>;
}

export interface FetchContext {
  layout: Layout;
  target: TargetName;
  /** Empty folder of mode 0700. */
  staging: string;
  limits: Limits;
  emit: Emit;
  signal: AbortSignal;
  /** Whether the digest of a project's artifact is wanted by its bytes, not by the hub's word: no delta is taken. */
  measuresArtifact?: boolean;
  /** Whether bytes of a slow download stay for another run if this one is interrupted. */
  keeps?: boolean;
}

/** Circumstances in which a version is looked for. */
export interface ResolveContext extends Pick<FetchContext, "layout" | "emit" | "signal"> {
  running?: string | null;
  /** Whether nothing may be kept: a trial, not a deployment. */
  isTrial?: boolean | undefined;
}

/** Statements about a version that came with it. */
export interface BroughtStatements {
  /** Facts and statements as the hub has said them; null for a hub without statements. */
  answer: StatementsAnswer | null;
  /** Public key that has signed them, 64 hexadecimal digits. */
  hubKey: string;
  /** Bytes of the provenance; undefined for none. */
  provenance: Buffer | undefined;
  /** Time when the kit was made that has brought them, ISO 8601. */
  kitMadeAt: string;
  /** Time before which it cannot be now, in milliseconds since 1970: the host's clock may be slow. */
  notBefore: number;
}

/** Origin of a deployment: surface A or surface B. The pipeline behind both is the same. */
export interface Source extends Reporter {
  kind: LocalReport["kind"];
  slug: string;
  target: TargetName;
  requestedVersion: string;
  /** Hub that has further facts of a version; undefined for a source without one. */
  connection?: HubConnection | undefined;
  /** Returns the statements that came with the resolved version, in place of a connection. */
  statements?(): BroughtStatements;
  /** Signers that this host accepts; undefined where no signature is required. */
  trust?: SignerTrust | undefined;
  /** Rejects what can be rejected before any request. */
  precheck?(supervisor: string): Promise<void>;
  /** Returns a text that changes with the signers that this host accepts; null where none is required. */
  acceptedSigners?(layout: Layout): Promise<string | null>;
  /**
   * Finds the requested version at the hub.
   *
   * @param context `running`: version that this host runs, null for none, on which the hub's answer to `latest`
   *   depends
   */
  resolve(context: ResolveContext): Promise<Resolved>;
  /**
   * Follows the trust root of the target, where one is followed.
   *
   * @param named newest version that the hub has named; undefined for none
   * @param asksOthers whether further places than the hub are asked
   * @throws UsageError, ArtifactError for the operator's own files
   */
  followRoot?(context: ResolveContext, named: number | undefined, asksOthers: boolean): Promise<void>;
  /** Fetches the requested version's bytes and verifies their signature, before it may be deployed. */
  fetchAhead?(context: Omit<FetchContext, "staging" | "limits">): Promise<FetchedAhead>;
}
