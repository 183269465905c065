import type { FastifyRequest } from "fastify";
import type { Logger } from "../../support/logging.ts";
import type { AuditEntry } from "../access/audit.ts";
import type { AuthenticationParts, MountOptions } from "../access/authentication.ts";
import type { Served } from "../access/serve.ts";
import type { SignInWay } from "../access/sign-in-way.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import type { Principal } from "../base/principal.ts";
import type { Arrivals } from "../http/arrivals.ts";
import type { Connections } from "../http/connections.ts";
import type { DeployParts } from "../mounts/deploy.ts";
import type { Gauge } from "../observability/hub-metrics.ts";
import type { ArchiveParts } from "../publications/archive.ts";
import type { SealedParts } from "../publications/signed-bytes.ts";
import type { FleetKey } from "../records/fleet.ts";
import type { RecordHooks } from "../records/hooks.ts";

/** The parts of the running hub that its routes and features build on. */
export interface Core extends AuthenticationParts, TargetAccessParts, SealedParts, ArchiveParts, DeployParts {
  arrivals: Arrivals;
  connections: Connections;
  logger: Logger | undefined;
}

/** The part of a feature that a running hub has. It is disposed when the requests have ended, before the database. */
export interface RunningFeature extends Partial<AsyncDisposable> {
  /** Returns its routes, each described in the contract. */
  routes?: (options: MountOptions<Core>) => readonly Served[];
  /** Runs for each audit entry of a request, before its answer is sent. Never rejects. */
  afterAudit?(entry: AuditEntry): Promise<void>;
  /** Hears of a request with a key that speaks for one host. */
  hearHost?(request: FastifyRequest, host: Principal): void;
  /** Hears of a view that reports were stored in. */
  afterReports?(view: FleetKey): void;
  /** Work of every hour and of the start, by what it looks for, as the log and the metrics name it. */
  chores?: Readonly<Record<string, () => Promise<void>>>;
  gauges?: readonly Gauge[];
  /** A way for people to sign in at the pages, beside API keys. */
  signIn?: SignInWay;
  /** Ends what would last for ever, when the hub begins to close. */
  preClose?(): void;
}

/**
 * A feature of the hub: what it does to the records, with or without a server, and what a running server has of it.
 * The core knows this interface and no feature; a feature knows the core and no other feature. `lib/hub/features.ts`
 * lists them.
 *
 * @typeParam Options the options of the hub that the feature reads
 * @typeParam Part what its start returns; {@link RunningFeature} for one that nobody asks for more
 */
export interface HubFeature<Options = object, Part extends RunningFeature = RunningFeature> extends RecordHooks {
  /** Starts what needs a running hub. */
  start?(core: Core, options: Options): Promise<Part>;
}
