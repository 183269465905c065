import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { Logger } from "../../support/logging.ts";
import type { AuthenticationParts, MountOptions } from "../access/authentication.ts";
import type { ProjectAccessParts } from "../access/project-access.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Gauge, HubMetrics } from "../observability/hub-metrics.ts";
import type { RecordHooks } from "../records/hooks.ts";

/** The parts of the running hub that features build on. */
export interface Core extends AuthenticationParts, ProjectAccessParts, TargetAccessParts {
  keyring: Keyring;
  metrics: HubMetrics | undefined;
  logger: Logger | undefined;
}

/** The groups of routes that a feature may add to; each has a place in the hub's URLs (contract/surfaces/paths.ts). */
export type Surface = "keys";

/** Routes, as a plugin of Fastify. */
export type Mount<Parts> = FastifyPluginAsyncZod<MountOptions<Parts>>;

/** The part of a feature that a running hub has. It is disposed when the requests have ended, before the database. */
export interface Running extends Partial<AsyncDisposable> {
  mounts?: Partial<Record<Surface, readonly Mount<Core>[]>>;
  /** Work of every hour and of the start, by what it looks for, as the log and the metrics name it. */
  chores?: Readonly<Record<string, () => Promise<void>>>;
  gauges?: readonly Gauge[];
}

/**
 * A feature of the hub: what it does to the records, with or without a server, and what a running server has of it.
 * The core knows this interface and no feature; a feature knows the core and no other feature. `lib/hub/features.ts`
 * lists them.
 *
 * @typeParam Options the options of the hub that the feature reads
 * @typeParam Part what its start returns; {@link Running} for one that nobody asks for more
 */
export interface HubFeature<Options = object, Part extends Running = Running> extends RecordHooks {
  /** Loads what only a server needs, and starts it. */
  start?(core: Core, options: Options): Promise<Part>;
}
