import * as z from "zod";
import { hostId, projectId, sha256Hex, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { pageQuery } from "../paging.ts";
import { MAX_TERMS_BYTES } from "../settings/limits.ts";
import { labels } from "../surfaces/labels.ts";
import { signerKey } from "../surfaces/signers.ts";
import { MAX_ROOT_BYTES } from "../trust/marks.ts";
import { rootId, rootVersion } from "../trust/root.ts";

/** Hosts that join by themselves (docs/contract/joining.md). */

/** Most hosts that one invite admits. */
const MOST_USES = 100_000;

/** Version of a trust root, as its holders have signed it. */
const root = later(() => z.string().min(1).max(MAX_ROOT_BYTES));

/** Terms of an invite, as the operator has signed them. */
const terms = later(() => z.string().min(1).max(MAX_TERMS_BYTES));

const invitation = later(() =>
  z.strictObject({
    /** Number of hosts that may join. */
    uses: z.int().min(1).max(MOST_USES).optional(),
    expires_at: timestamp,
    /** Labels that joining hosts take over. */
    labels: labels.optional(),
    /** Whether each host waits for approval. */
    approve: z.boolean().optional(),
    /** Whether keys of hosts get the scope `read`, too: for a host with a dashboard. */
    fleet: z.boolean().optional(),
    /** Public keys for hosts to pin; omitted with a root. */
    signers: z.array(signerKey).max(16).optional(),
    /** Trust root for hosts to pin, which names the signers. */
    root: root.optional(),
    /** Terms that the operator has signed (docs/contract/settings.md#terms). Hubs of 0.2.0 know none. */
    terms: terms.optional(),
  }),
);
export const inviteRequest = later(() =>
  invitation
    .refine(({ signers = [], root: pinned }) => pinned !== undefined || signers.length > 0, {
      path: ["signers"],
      error: "must name at least one key, or there must be a root",
    })
    .refine(({ signers = [], root: pinned }) => pinned === undefined || signers.length === 0, {
      path: ["signers"],
      error: "must be left out with a root, which names them",
    }),
);
export type InviteRequest = z.input<typeof inviteRequest>;

export const inviteRecord = later(() =>
  z.object({
    id: z.string(),
    state: z.enum(["open", "used", "expired", "revoked"]),
    uses: z.int().nonnegative(),
    used: z.int().nonnegative(),
    approve: z.boolean(),
    /** Whether keys of its hosts have the scope `read`; older hubs do not say. */
    fleet: z.boolean().optional(),
    labels,
    /** Empty with a root. */
    signers: z.array(z.string()),
    /** Version of the trust root that its hosts pin; omitted without one. */
    root: z.object({ id: rootId, version: rootVersion }).optional(),
    /** SHA-256 of the terms' signed part; omitted without terms. */
    terms_digest: sha256Hex.optional(),
    expires_at: z.string(),
    created_at: z.string(),
    /** Id of the key that made it. */
    created_by: z.string(),
  }),
);
export type InviteRecord = z.infer<typeof inviteRecord>;

/** Invite with its token, which is returned only this once. */
export const newInvite = later(() => inviteRecord.extend({ token: z.string() }));
export type NewInvite = z.infer<typeof newInvite>;

const secretOf = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[A-Za-z0-9_-]{43}$`), `must be ${prefix}_ and 43 characters`);

export const joinRequest = later(() =>
  z.strictObject({
    token: z.string().min(1).max(512),
    host_id: hostId,
    /** Key that the host has made for itself, like the credential below; a repeated join sends the same ones. */
    key: secretOf("slk"),
    deployment_credential: secretOf("sdc"),
  }),
);
export type JoinRequest = z.infer<typeof joinRequest>;

export const joinAnswer = later(() =>
  z.object({
    /** State of the join. A pending host gets the same answer until it is approved; its key does not work before. */
    state: z.enum(["pending", "joined"]),
    /** Name that the host's key speaks for: an operator may have changed it. */
    host_id: hostId,
    project_id: projectId,
    project_name: z.string(),
    labels,
    /** Keys for the host to pin; empty with a root. */
    signers: z.array(signerKey),
    /** Trust root for the host to pin; omitted without one. */
    root: root.optional(),
    /** Terms of the invite, which the host compares with its line; omitted without any. */
    terms: terms.optional(),
  }),
);
export type JoinAnswer = z.infer<typeof joinAnswer>;

export const joinedHost = later(() =>
  z.object({
    host_id: z.string(),
    /** `approved` until the host has come back for its key, `ended` without a live key. */
    state: z.enum(["pending", "approved", "joined", "ended"]),
    /** Null for a host whose key was made by hand. */
    invite_id: z.string().nullable(),
    /** Address that it joined from; empty for a key made by hand. */
    address: z.string(),
    created_at: z.string(),
    /** Time of its last report or poll, to the hour for polls. */
    heard_at: z.string().nullable(),
    /** Version that it runs, by its last report. */
    version: z.string().nullable(),
    labels,
    /** Machines that use its key in turn, most recent first; empty for a single machine. */
    clones: z.array(z.object({ address: z.string(), heard_at: z.string() })),
  }),
);
export type JoinedHost = z.infer<typeof joinedHost>;

export const joinedQuery = later(() =>
  pageQuery.extend({
    /** Restricts the list to hosts that wait for approval. */
    state: z.literal("pending").optional(),
    /** Restricts it to one host; the next field to those that came with an invite. Not known to hubs of 0.2.0. */
    host_id: z.string().max(255).optional(),
    invite_id: z.string().max(64).optional(),
  }),
);
export type JoinedQuery = Pick<z.infer<typeof joinedQuery>, "state" | "host_id" | "invite_id">;

export const hostRenaming = later(() => z.strictObject({ host_id: hostId }));
