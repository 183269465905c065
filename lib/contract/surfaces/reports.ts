import * as z from "zod";
import { hostId, publicKeyHex, sha256Hex, slug, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { reportedApplication } from "../reports/applications.ts";
import { HOST_SETTINGS } from "../settings/host-states.ts";
import { rootVersion } from "../trust/root.ts";
import { MEMBERSHIPS } from "./app-serve.ts";
import { HEALTH_STATES, HOST_STATES } from "./host-record.ts";
import { labels } from "./labels.ts";

export const deploymentStatus = later(() => z.enum(["success", "failed", "rolled_back"]));
export type DeploymentStatus = z.infer<typeof deploymentStatus>;

/** Version that runs on the host after the deployment: null for none, omitted if unknown. */
export const runningVersionField = later(() => z.string().max(128).nullish());

/**
 * Trusted Ed25519 key that has signed the running version, hexadecimal: null if no signature was required or nothing
 * runs, omitted if unknown. A malformed one is ignored.
 */
export const runningSignerField = later(() => publicKeyHex.nullish().catch(undefined));

/** Code of the error (docs/errors.md), of success null or omitted. A malformed one is ignored. */
export const reportedCode = later(() =>
  z
    .string()
    .regex(/^[a-z0-9_]{1,64}$/)
    .nullish()
    .catch(undefined),
);

/** Health of the running version after its deployment; omitted by a host that does not ask it. */
export const healthField = later(() =>
  z
    .object({
      state: z.enum(HEALTH_STATES),
      since: timestamp,
      /** Units that an operator has stopped, which are not unhealthy: `apps/web`. Omitted for none (since 0.3.0). */
      stopped: z.array(z.string().max(256)).max(1000).optional().catch(undefined),
    })
    .optional(),
);

/** Fleet that the key may see, and the number of its hosts. */
export const fleetSummary = later(() =>
  z.object({
    target: z.string().describe("`plugin:SLUG`, `service:SLUG` or `project:ID`"),
    name: z.string().nullable().describe("A project's name"),
    hosts: z.int().nonnegative(),
  }),
);
export type FleetSummary = z.infer<typeof fleetSummary>;

/** State of a host; `silent` after 30 days without a report or poll. */
export const hostState = later(() => z.enum(HOST_STATES));

/** Most versions and labels that the numbers of a fleet name. */
export const MOST_NAMED = 100;

/** Numbers of a fleet. */
export const fleetCounts = later(() =>
  z.object({
    hosts: z.int().nonnegative(),
    states: z.record(hostState, z.int().nonnegative()),
    versions: z
      .array(z.object({ version: z.string(), hosts: z.int().nonnegative(), failing: z.int().nonnegative() }))
      .describe(
        `The ${MOST_NAMED} most frequent versions that hosts run, or words in their place; most frequent first`,
      ),
    labels: z.array(z.string()).describe(`The first ${MOST_NAMED} labels of hosts, as \`name=value\``),
    unhealthy: z
      .int()
      .nonnegative()
      .optional()
      .describe("Hosts whose running version is unhealthy; of those that failed"),
    roots: z
      .array(z.object({ version: rootVersion, digest: sha256Hex, hosts: z.int().nonnegative() }))
      .optional()
      .describe("Versions of trust roots that hosts follow, newest first; omitted where none does"),
    settings: z
      .partialRecord(z.enum(HOST_SETTINGS), z.int().nonnegative())
      .optional()
      .describe("Hosts by the state of their settings; omitted where the project has none"),
    agents: z
      .array(z.object({ agent: z.string(), hosts: z.int().nonnegative() }))
      .optional()
      .describe("Versions of the agents of hosts that are not silent, most hosts first; omitted where none says it"),
  }),
);
export type FleetCounts = z.infer<typeof fleetCounts>;

/** Most steps of a report to a hub; the next constant limits the characters of their texts. */
const MAX_STEPS = 100;
const MAX_STEP_NAME = 128;
const MAX_STEP_ERROR = 1000;

const stepStatus = later(() => z.enum(["done", "failed", "skipped"]));

export const stepOutcome = later(() =>
  z.object({
    id: z.string(),
    action: z.string(),
    status: stepStatus,
    /** Duration in milliseconds. */
    duration_ms: z.number(),
    error_message: z.string().nullable(),
  }),
);
export type StepOutcome = z.infer<typeof stepOutcome>;

/** Steps of a deployment, as a hub accepts them. A report whose steps are malformed is stored without them. */
export const reportedSteps = later(() =>
  z
    .array(
      z.object({
        id: z.string().max(MAX_STEP_NAME),
        action: z.string().max(MAX_STEP_NAME),
        status: stepStatus,
        duration_ms: z.number().nonnegative(),
        error_message: z.string().max(MAX_STEP_ERROR).nullable(),
      }),
    )
    .max(MAX_STEPS)
    .optional()
    .catch(undefined),
);

/** Most lines of a log in a report, and most characters of all of them. */
export const MAX_LOG_LINES = 20;
export const MAX_LOG_CHARACTERS = 4096;

/** Last lines of the log of an application that failed, made safe by the agent. A malformed log is ignored. */
export const reportedLog = later(() =>
  z
    .array(z.string().max(MAX_LOG_CHARACTERS))
    .max(MAX_LOG_LINES)
    .refine((lines) => lines.join("\n").length <= MAX_LOG_CHARACTERS)
    .optional()
    .catch(undefined),
);

/** Returns the last steps of a deployment, with as much of their texts as a hub accepts. */
export const stepsToReport = (steps: readonly StepOutcome[]): StepOutcome[] =>
  steps.slice(-MAX_STEPS).map(({ id, action, error_message: error, ...rest }) => ({
    id: id.slice(0, MAX_STEP_NAME),
    action: action.slice(0, MAX_STEP_NAME),
    ...rest,
    error_message: error?.slice(0, MAX_STEP_ERROR) ?? null,
  }));

/** Request body of surface A's report route (docs/contract/marketplace.md#reports). */
export const deploymentReport = later(() =>
  z.object({
    kind: z.enum(["plugin", "service"]),
    slug,
    version: z.string().max(128),
    status: deploymentStatus,
    started_at: timestamp,
    completed_at: timestamp,
    host_id: hostId.default("default"),
    repo: z
      .string()
      .max(512)
      .nullish()
      .transform((repo) => repo || null),
    error_message: z
      .string()
      .max(4096)
      .nullish()
      .transform((text) => text?.replaceAll("\0", "\ufffd") ?? null),
    code: reportedCode,
    running_version: runningVersionField,
    running_signer: runningSignerField,
    health: healthField,
    labels: labels.optional(),
    steps: reportedSteps,
    log: reportedLog,
  }),
);
export type DeploymentReport = z.infer<typeof deploymentReport>;

/** Local JSON report of the agent (docs/contract/marketplace.md): the contract's keys first, then additions. */
export const localReport = later(() =>
  z.object({
    slug: z.string(),
    kind: z.enum(["plugin", "service", "project"]),
    status: deploymentStatus,
    requested_version: z.string(),
    resolved_version: z.string().nullable(),
    repo: z.string().nullable(),
    started_at: timestamp,
    completed_at: timestamp,
    error_message: z.string().nullable(),
    host_id: z.string(),
    deployment_id: z.string(),
    code: z.string().nullable(),
    /** Messages of the error's cause chain, starting with its own cause. */
    causes: z.array(z.string()).optional(),
    steps: z.array(stepOutcome),
    /** Last lines of the log of an application that failed, unless the operator keeps logs out of reports. */
    log: z.array(z.string()).optional(),
    bytes: z.int().nonnegative(),
    artifact_sha256: z.string().nullable(),
    /** Trusted Ed25519 key that has signed it, hexadecimal; null where no signature was required. */
    signer: z.string().nullish(),
    /** Plugin entries of the manifest, for the report to the hub. */
    plugins: z.array(z.record(z.string(), z.unknown())).default([]),
    warnings: z.array(z.string()),
    running_version: runningVersionField,
    running_signer: runningSignerField,
    health: healthField,
    /** Version of the trust root that the target follows, and its digest; omitted for none. */
    trust_root: z.object({ version: rootVersion, digest: sha256Hex }).optional(),
    /** Way in which the processes of each application are told from others, by id; left out without applications. */
    membership: z.record(z.string(), z.enum(MEMBERSHIPS)).optional(),
    applications: z.record(z.string(), reportedApplication).optional(),
    /** Only in the report of a change of health, which is no deployment. */
    about: z.literal("health").optional(),
  }),
);
export type LocalReport = z.infer<typeof localReport>;
