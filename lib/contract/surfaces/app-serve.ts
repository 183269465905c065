import * as z from "zod";
import { appLimits, usage } from "../files/app-limits.ts";
import { LIMIT_NAMES } from "../files/limit-forms.ts";
import { pluginId } from "../identifiers.ts";
import { later } from "../later.ts";

/** Local surface of `sealift app serve`, over a unix socket in the project root (docs/applications.md). */

/** Every error code of `app serve`, with its HTTP status. */
export const APP_SERVE_CODES = {
  not_found: { status: 404, meaning: "There is no such route." },
  not_granted: { status: 403, meaning: "applications.yaml does not grant the application, or gives it no address." },
  not_installed: { status: 409, meaning: "The application is granted and not installed." },
  settings_invalid: { status: 409, meaning: "A file of the operator or of the release cannot be read." },
  port_taken: { status: 409, meaning: "Another program listens on an address of the application." },
  migration_failed: { status: 500, meaning: "The application's migration ended with an error or took too long." },
  start_failed: { status: 500, meaning: "The application's program could not be started." },
  ending: { status: 503, meaning: "`sealift app serve` ends, and starts nothing more (since 0.3.0)." },
  internal: { status: 500, meaning: "A defect in `sealift app serve`: please report it." },
} as const satisfies Record<string, { status: number; meaning: string }>;
export type AppServeCode = keyof typeof APP_SERVE_CODES;

/**
 * State of an application. `waiting`: it has ended by itself and is started again after a pause; `failed`: its start
 * failed. Once no deployment is under way, it is tried again by itself.
 */
export const APPLICATION_STATES = ["stopped", "starting", "running", "stopping", "waiting", "failed"] as const;

/**
 * Way in which the kernel tells whose processes are an application's: by a control group of its own, by a user of its
 * own, or not at all.
 */
export const MEMBERSHIPS = ["group", "user", "none"] as const;
export type MembershipKind = (typeof MEMBERSHIPS)[number];

export const applicationStatus = later(() =>
  z.looseObject({
    id: pluginId,
    state: z.enum(APPLICATION_STATES),
    since: z.string(),
    pid: z.int().nullable(),
    /** Starts after an end that nobody asked for, since it was last started on purpose. */
    restarts: z.int().nonnegative(),
    /** Release that it was started from. */
    release: z.string().nullable(),
    /** User who runs it. */
    user: z.string(),
    /** True when it runs as the user of `app serve`, and so can read the agent's keys and settings. */
    same_user: z.boolean(),
    /** Way in which its processes are told from others. Absent before 0.3.0, and before its first start. */
    membership: z.enum(MEMBERSHIPS).optional(),
    /** Sockets and ports by name, each with its address. */
    addresses: z.record(z.string(), z.string()),
    /** Limits of its grant, those of them that nothing enforces here, and what it uses now (since 0.3.0). */
    limits: appLimits.optional().catch(undefined),
    unenforced: z.array(z.enum(LIMIT_NAMES)).readonly().optional().catch(undefined),
    used: usage.optional().catch(undefined),
    /** Why it does not run, or how it last ended. */
    error: z.string().nullable(),
  }),
);
export type ApplicationStatus = z.output<typeof applicationStatus>;

export const applicationsStatus = later(() => z.looseObject({ applications: z.array(applicationStatus) }));

export const appServeError = later(() =>
  z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) }),
);

/** `recover` is a restart that goes on trying when its start fails, as when `app serve` itself starts (since 0.3.0). */
export const APPLICATION_VERBS = ["start", "stop", "restart", "recover"] as const;
export type ApplicationVerb = (typeof APPLICATION_VERBS)[number];

/** Answer of `health.command` of an application: why it does not work, or null (since 0.3.0). */
export const applicationHealth = later(() => z.looseObject({ fault: z.string().nullable() }));

export const APP_SERVE_PATHS = {
  /** GET looks at the last answer, POST asks for one of now. */
  health: (id: string) => `/v1/applications/${id}/health`,
  status: "/v1/applications",
  act: (id: string, verb: ApplicationVerb) => `/v1/applications/${id}/${verb}`,
};

/** Time limit of a migration, in milliseconds; then it has failed. */
export const MIGRATION_LIMIT_MS = 600_000;
