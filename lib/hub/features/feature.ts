import type { FastifyRequest } from "fastify";
import type { Logger } from "../../support/logging.ts";
import type { AuditEntry } from "../access/audit.ts";
import type { AuthenticationParts, MountOptions } from "../access/authentication.ts";
import type { NameParts } from "../access/new-project.ts";
import type { Served } from "../access/serve.ts";
import type { SignInWay } from "../access/sign-in-way.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import type { Principal } from "../base/principal.ts";
import type { Arrivals } from "../http/arrivals.ts";
import type { Connections } from "../http/connections.ts";
import type { DeployParts } from "../mounts/deploy.ts";
import type { Gauge } from "../observability/hub-metrics.ts";
import type { ArchiveParts } from "../publications/archive.ts";
import type { KeptUploads } from "../publications/kept-uploads.ts";
import type { SealedParts } from "../publications/signed-bytes.ts";
import type { FleetKey } from "../records/fleet.ts";
import type { RecordHooks } from "../records/hooks.ts";

/** Parts of the running hub that its routes and features build on. */
export interface Core
  extends AuthenticationParts, TargetAccessParts, SealedParts, ArchiveParts, DeployParts, NameParts {
  arrivals: Arrivals;
  uploads: KeptUploads;
  connections: Connections;
  logger: Logger | undefined;
}

/** A feature in a running hub. It is disposed after the last request, and before the database. */
export interface RunningFeature extends Partial<AsyncDisposable> {
  /** Returns its routes, each described in the contract. */
  routes?: (options: MountOptions<Core>) => readonly Served[];
  /** Runs for each audit entry of a request, before its answer is sent. Never rejects. */
  afterAudit?(entry: AuditEntry): Promise<void>;
  /** Called with each request of a key that speaks for one host. */
  hearHost?(request: FastifyRequest, host: Principal): void;
  /** Called after reports were stored in a view. */
  afterReports?(view: FleetKey): void;
  /** Jobs that run at the start and every hour, by the name that logs and metrics use. */
  chores?: Readonly<Record<string, () => Promise<void>>>;
  gauges?: readonly Gauge[];
  /** Way to sign in at the pages other than with an API key. */
  signIn?: SignInWay;
  /** Called when the hub begins to close, to end streams and anything else without an end of its own. */
  preClose?(): void;
}

/**
 * Feature of the hub: its hooks into the records, with or without a server, and its part of a running server. The core
 * knows this interface and no feature; a feature knows the core and no other feature. `lib/hub/features.ts` lists them.
 *
 * @typeParam Options options of the hub that the feature reads
 * @typeParam Part result of `start`; {@link RunningFeature} unless somebody needs more
 */
export interface HubFeature<Options = object, Part extends RunningFeature = RunningFeature> extends RecordHooks {
  /** Starts the part that needs a running hub. */
  start?(core: Core, options: Options): Promise<Part>;
}
