import * as z from "zod";
import { publicKeyHex } from "../identifiers.ts";
import { later } from "../later.ts";

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Time such as `24h`, in milliseconds. */
const age = later(() =>
  z
    .string()
    .regex(/^\d{1,6}[smhd]$/, "must be a time such as 30m, 24h or 7d")
    .transform((text) => Number(text.slice(0, -1)) * UNITS_MS[text.at(-1)!]!),
);

/** Most keys of hubs in one policy. */
const MAX_HUB_KEYS = 4;

/** Names of the rules, in the order in which they are checked: those without a cost first. */
export const POLICY_RULES = ["approved", "min_age", "sbom", "issuer", "repository"] as const;
export type PolicyRule = (typeof POLICY_RULES)[number];

/** Tells whether a policy asks something of versions. One of `hub_keys` alone binds kits, and asks nothing else. */
export const hasRules = (policy: Partial<Record<PolicyRule, unknown>>): boolean =>
  POLICY_RULES.some((rule) => policy[rule] !== undefined && policy[rule] !== false);

/** `policy.yaml`: rules that a version must meet on a host (docs/policy.md). A missing rule requires nothing. */
export const policyFile = later(() =>
  z
    .strictObject({
      /** Issuer of the identity that signed the provenance: `https://token.actions.githubusercontent.com`. */
      issuer: z.url({ protocol: /^https$/ }).optional(),
      /** URL of the repository in the certificate of the provenance. */
      repository: z.url({ protocol: /^https$/ }).optional(),
      /** Whether the version must have been approved at the hub. */
      approved: z.boolean().optional(),
      /** Least time since its publication. */
      min_age: age.optional(),
      /** Whether it must have a bill of materials. */
      sbom: z.boolean().optional(),
      /** File with the keys and certificates for verifying provenance. Default: those of the public Sigstore. */
      trusted_root: z.string().min(1).optional(),
      /** Keys of the hubs whose word counts for a version that came by a kit. Online the hub itself is asked. */
      hub_keys: z.array(publicKeyHex).min(1).max(MAX_HUB_KEYS).optional(),
    })
    .refine((policy) => hasRules(policy) || policy.hub_keys !== undefined, "must have at least one rule, or hub_keys"),
);
export type PolicyFile = z.infer<typeof policyFile>;
