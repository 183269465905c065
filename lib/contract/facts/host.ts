import * as z from "zod";
import { sha256Hex, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { reportedApplications } from "../reports/applications.ts";
import { HOST_SETTINGS } from "../settings/host-states.ts";
import { HOST_STATES } from "../surfaces/host-record.ts";
import { labels } from "../surfaces/labels.ts";
import {
  deploymentStatus,
  healthField,
  hostState,
  reportedCode,
  runningSignerField,
  runningVersionField,
  stepOutcome,
} from "../surfaces/reports.ts";
import { rootVersion } from "../trust/root.ts";

/**
 * Facts of a host of a fleet, each once: answers of both surfaces, rows of the hub and the client's record are made of
 * them.
 */

/** Facts of a host's last report, on both surfaces. Reports in the log have them, too. */
export const hostFacts = {
  /** Version that the report is about, which may have failed. */
  version: z.string(),
  status: deploymentStatus,
  error_message: z.string().nullable(),
  /** Code of that error; omitted by hosts that do not name it. */
  code: reportedCode,
  started_at: z.string(),
  completed_at: z.string(),
  /** Time of the report by the hub's clock. */
  created_at: z.string(),
  running_version: runningVersionField,
  running_signer: runningSignerField,
  health: healthField,
  labels: labels.optional(),
  /** Applications of the version that runs, as of the last report that told of them; never on surface A. */
  applications: reportedApplications,
  /** Kit by which the report came back from a host without network, and when; omitted for one that its host sent. */
  by_kit: z.object({ kit: z.string(), back_at: timestamp }).optional(),
};

/** Facts kept beside the report, each in the column of its name in the hub's `hosts`; omitted where that is null. */
export const keptFacts = {
  /** Time of the last poll of a host that names itself, to the hour. */
  seen_at: timestamp.optional(),
  /** Version of the trust root that it follows, as of its last poll; so is the next one, the digest of that version. */
  root_version: rootVersion.optional(),
  root_digest: sha256Hex.optional(),
  /** Number of its newest settings at the hub; omitted for none, and where the project has no settings at all. */
  settings_number: z.int().min(1).optional(),
  /** State of its settings; omitted where the project has none at all. */
  settings_state: z.enum(HOST_SETTINGS).optional(),
  /** Number of the settings that the host said something of last. */
  settings_of: z.int().min(1).optional(),
  /** Code for which it could not use them. */
  settings_code: z.string().optional(),
  /** Reason for which an operator has taken it out of service, where no rollout counts it; omitted for none. */
  out_of_service: z.string().optional(),
  /** Version of its agent, or `before 0.3.0`, as of its last poll or report; omitted where neither has said it. */
  agent: z.string().optional(),
};

/** Facts that the hub adds to a host's last report in fleets. */
export const fleetFacts = {
  ...keptFacts,
  /**
   * Whether the version of the report was yanked or deleted since, while the host runs another one: it is not failing.
   */
  superseded: z.boolean().optional(),
  /** Omitted in the whole view of a fleet, which does not depend on the time. */
  state: hostState.optional(),
};

/** Facts that the hub adds where one host is asked for. */
export const detailFacts = {
  ...fleetFacts,
  state: hostState,
  /** Steps of the last report. */
  steps: z.array(stepOutcome),
  /** Last lines of the log of an application that failed; omitted where the last report has none. */
  log: z.array(z.string()).optional(),
};

/** Host of a fleet with the facts that both surfaces have. */
export type HostRecord = z.infer<z.ZodObject<typeof hostFacts & typeof fleetFacts>>;

/** Facts of one host that both surfaces have. */
export type HostDetail = z.infer<z.ZodObject<typeof hostFacts & typeof detailFacts>>;

/** Host in a list by state, which always has its state. */
export type ListedHost = HostRecord & Pick<HostDetail, "state">;

/** Host as a client reads it: other hubs may leave facts out. Keys are in the order of `--json`. */
export const readHost = later(() =>
  z.looseObject({
    state: z.enum(HOST_STATES).optional(),
    labels: z.record(z.string(), z.string()).optional(),
    version: hostFacts.version,
    status: hostFacts.status,
    error_message: z.string().nullish(),
    code: z.string().nullish().catch(undefined),
    completed_at: z.string().nullish(),
    created_at: z.string().nullish(),
    started_at: z.string().nullish(),
    health: healthField.catch(undefined),
    seen_at: z.string().nullish(),
    root_version: z.int().optional().catch(undefined),
    root_digest: z.string().optional().catch(undefined),
    settings_number: z.int().optional().catch(undefined),
    settings_state: z.enum(HOST_SETTINGS).optional().catch(undefined),
    settings_of: z.int().optional().catch(undefined),
    settings_code: z.string().optional().catch(undefined),
    out_of_service: z.string().optional().catch(undefined),
    agent: z.string().optional().catch(undefined),
    applications: reportedApplications,
    running_version: z.string().nullish(),
    running_signer: runningSignerField,
    superseded: z.boolean().optional(),
    by_kit: hostFacts.by_kit.catch(undefined),
  } satisfies Record<keyof HostRecord, z.ZodType>),
);
export type ReadHost = z.output<typeof readHost>;
