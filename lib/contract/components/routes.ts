import * as z from "zod";
import { later } from "../later.ts";
import type { Route } from "../route.ts";
import { componentQuery } from "./query.ts";

/** Most versions, and hosts of one version, that an answer names. */
export const MOST_VERSIONS = 1000;
export const MOST_HOSTS = 1000;

/** Most versions that an answer lists as not indexed yet. */
export const MOST_UNINDEXED = 100;

/** Version that contains a component, with the hosts that run it. */
export const foundVersion = later(() =>
  z.object({
    /** `plugin:SLUG`, `service:SLUG` or `project:ID`. */
    target: z.string(),
    /** Display name of the target. */
    name: z.string(),
    version: z.string(),
    components: z.array(z.object({ name: z.string(), version: z.string(), purl: z.string() })),
    /** Number of hosts in the caller's fleet that run the version now; the next field names the first of them. */
    host_count: z.int(),
    hosts: z.array(z.string()),
  }),
);
export type FoundVersion = z.infer<typeof foundVersion>;

export const foundComponents = later(() =>
  z.object({
    versions: z.array(foundVersion),
    /** Whether more versions contain it than are named. */
    truncated: z.boolean(),
    /** Components with the name whose versions have no known order, so that the range cannot be applied. */
    uncompared: z.array(z.object({ version: z.string(), purl: z.string() })),
    /** Versions whose SBOM is not indexed yet, so that they are missing above; older hubs do not say. */
    unindexed: z.array(z.object({ target: z.string(), name: z.string(), version: z.string() })).optional(),
  }),
);
export type FoundComponents = z.infer<typeof foundComponents>;

export const findComponents = {
  otherHosts: "named",
  mount: "deployments",
  tags: ["components"],
  method: "GET",
  path: "/deployments/components",
  who: { key: ["read"] },
  summary: "The versions that contain a component, and the hosts that run them now",
  description: "Of the fleets that the key may see. Those first that most hosts run.",
  query: later(() =>
    z.object({
      q: z
        .string()
        .max(500)
        .refine((text) => componentQuery(text) !== undefined, "must be NAME, NAME@RANGE or a package URL with a range")
        .describe("lodash@<4.17.21, pkg:npm/lodash@^4, or pkg:maven/org.apache.logging.log4j/log4j-core@2.14.*"),
    }),
  ),
  ok: { 200: foundComponents },
} as const satisfies Route;
