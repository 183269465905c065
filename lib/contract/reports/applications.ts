import * as z from "zod";
import { slug, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";

/** Most applications that a report tells of, and most characters of what was wrong with the last run of a job. */
const MAX_APPLICATIONS = 200;
export const MAX_RUN_FAULT = 200;

export const reportedApplication = later(() =>
  z.object({
    /** State when the report was written: `running`, `stopped` by an operator, `unhealthy`, `waiting` of a job. */
    state: z.string().regex(/^[a-z-]{1,32}$/),
    /** Time since when its process is in that state. */
    since: timestamp.optional(),
    /** Starts after an end that nobody asked for; omitted for none. */
    restarts: z.int().nonnegative().optional(),
    /** Time at which a job was begun last. */
    last: timestamp.optional(),
    /** Reason why that run failed; omitted for one that went well, or runs. */
    fault: z.string().max(MAX_RUN_FAULT).optional(),
  }),
);
export type ReportedApplication = z.infer<typeof reportedApplication>;

/** Applications of the running release, by id (since 0.3.0). Malformed ones are ignored. */
export const reportedApplications = later(() =>
  z
    .record(slug, reportedApplication)
    .refine((all) => Object.keys(all).length <= MAX_APPLICATIONS)
    .optional()
    .catch(undefined),
);
