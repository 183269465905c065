import * as z from "zod";
import { targetForm, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { MAX_LOOK_ALIKES } from "../look-alikes.ts";
import { createProjectRequest, projectKind } from "../surfaces/keys.ts";
import { MAX_CLAIMS, MAX_TOKEN_CHARACTERS, PUBLISHER_SCOPES } from "./claims.ts";

/** Trusted publishers on the wire (docs/contract/publishers.md). */

const printable = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+$/u, "must be printable");

const claimName = later(() => printable(128));
const claims = later(() =>
  z
    .record(claimName, printable(1024))
    .refine((given) => Object.keys(given).length > 0, "must name at least one claim")
    .refine((given) => Object.keys(given).length <= MAX_CLAIMS, `must name at most ${MAX_CLAIMS} claims`),
);

export const publisherRequest = later(() =>
  z.strictObject({
    /** Project, plugin or service that it may publish to. */
    target: targetForm.optional(),
    /** Target that the first publication creates, instead of `target`. */
    creates: createProjectRequest.omit({ same_name: true }).optional(),
    name: printable(128),
    /** Issuer, exactly as in the claim `iss`; its keys are found by OpenID Connect Discovery. */
    issuer: z.url().max(512),
    /** Value of the claim `aud`: the hub's URL, so that a token for another hub is useless here. */
    audience: printable(512),
    /** Exact values that the token's claims must have. */
    claims,
    /** Scope of its keys. Default: `publish`. */
    scope: z.enum(PUBLISHER_SCOPES).optional(),
  }),
);
export type PublisherRequest = z.infer<typeof publisherRequest>;

export const publisherRecord = later(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    owner: z.string(),
    /** Null until its first run has created the target. */
    target: z.string().nullable(),
    /** Target that its first run creates; the slug of a project is its future id. */
    creates: z.object({ kind: projectKind, slug: z.string(), name: z.string() }).nullable(),
    issuer: z.string(),
    audience: z.string(),
    claims: z.record(z.string(), z.string()),
    scope: z.enum(PUBLISHER_SCOPES),
    created_at: timestamp,
    /** Id of the key that added it. */
    created_by: z.string(),
    /** Time when it last got a key; null for never. */
    last_used_at: timestamp.nullable(),
    /** Slugs of other owners that look like the one in `creates`, of those that the caller sees; when it is added. */
    looks_like: z.array(z.string()).max(MAX_LOOK_ALIKES).optional(),
  }),
);
export type PublisherRecord = z.infer<typeof publisherRecord>;

const token = later(() => z.string().min(1).max(MAX_TOKEN_CHARACTERS));

/** Claim in which a token differs from a publisher. */
export const claimDifference = later(() =>
  z.object({
    claim: z.string(),
    wanted: z.string(),
    /** Null where the token has no such claim, or none that is a text or a number. */
    found: z.string().nullable(),
  }),
);
export type ClaimDifference = z.infer<typeof claimDifference>;

export const publisherTestRequest = later(() => z.strictObject({ token }));
export const publisherTest = later(() => z.object({ matches: z.boolean(), differences: z.array(claimDifference) }));
export type PublisherTest = z.infer<typeof publisherTest>;

export const exchangeRequest = later(() =>
  z.strictObject({
    /** `plugin:SLUG`, `service:SLUG`, `project:ID` or `project:NAME`. */
    target: z
      .string()
      .max(300)
      .regex(/^(?:plugin|service|project):./, "must be plugin:SLUG, service:SLUG, project:ID or project:NAME"),
    /** Identity token, a JSON Web Token. It is accepted once. */
    token,
  }),
);

/** Short-lived key for one target. */
export const exchangeAnswer = later(() =>
  z.object({
    key: z.string(),
    key_id: z.string(),
    expires_at: timestamp,
    /** `plugin:SLUG`, `service:SLUG` or `project:ID`. */
    target: z.string(),
    /** Id of the project, plugin or service. */
    project_id: z.string(),
    /** Display name of the target. */
    name: z.string(),
    /** Id and name of the publisher that the token matches. */
    publisher: z.object({ id: z.string(), name: z.string() }),
    /** Whether this exchange has created the target. */
    created: z.boolean(),
  }),
);
export type ExchangeAnswer = z.infer<typeof exchangeAnswer>;
