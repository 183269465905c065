import type { WaitCause } from "./blame.ts";

/** Event of webhooks. */
interface Event {
  /** Phrase for the users' page. */
  when: string;
  /** Fields of `data` other than `target` and `name`, for the contract's page. */
  fields: string;
  /** Describes the event in words, for chats. */
  sentence: (data: WebhookMessage["data"]) => string;
}

/**
 * Every event of webhooks, with its sentence for chats and its text for the pages. audit-actions.ts says which action
 * of the audit log causes it.
 */
const EVENTS = {
  "version.published": {
    when: "a version becomes visible",
    fields: "`version`, `actor` (the owner whose key did it), `sha256` of the published bytes",
    sentence: ({ version, actor }) => `${version} was published by ${actor}`,
  },
  "version.staged": {
    when: "a version is [staged](contract/staging.md), and waits for approval",
    fields: "`version`, `actor`, `sha256` of the staged bytes",
    sentence: ({ version, actor }) => `${version} was staged by ${actor} and waits for approval`,
  },
  "version.approved": {
    when: "a staged version is approved; `version.published` follows",
    fields: "`version`, `actor`, `sha256` of the approved bytes",
    sentence: ({ version, actor }) => `${version} was approved by ${actor}`,
  },
  "version.rejected": {
    when: "a staged version is rejected",
    fields: "`version`, `actor`, `reason`, `sha256` of the rejected bytes",
    sentence: ({ version, actor }) => `${version} was rejected by ${actor}`,
  },
  "approval.changed": {
    when: "new versions [require approval](contract/staging.md#targets-that-require-it) from now on, or no longer",
    fields: "`version` (null), `actor`, `required`",
    sentence: ({ required, actor }) =>
      required === true
        ? `new versions require approval from now on, says ${actor}`
        : `${actor} has lifted the rule that new versions require approval`,
  },
  "version.yanked": {
    when: "a version is taken out of `latest`",
    fields: "`version`, `actor`, `reason` or null",
    sentence: ({ version, actor }) => `${version} was yanked by ${actor}`,
  },
  "version.restored": {
    when: "a yanked version comes back",
    fields: "`version`, `actor`",
    sentence: ({ version, actor }) => `${version} is available again, says ${actor}`,
  },
  "version.deprecated": {
    when: "somebody advises against a version",
    fields: "`version`, `actor`, `reason`: the advice, `replaced_by` or null",
    sentence: ({ version, actor }) => `${actor} advises against ${version}`,
  },
  "version.held": {
    when: "a version is [held](rollouts.md#what-latest-means) or staged, and once a day while it is",
    fields: "`version`, `actor` (`hub`), `rollout` (not of a staged one), `reason`",
    sentence: ({ version, rollout }) =>
      rollout === undefined
        ? `${version} waits for approval: no host gets it`
        : `${version} is held by ${rollout}: no further host gets it`,
  },
  "rollout.started": {
    when: "a [rollout](rollouts.md) begins",
    fields: "`version`, `actor`, `rollout`",
    sentence: ({ version, actor }) => `the rollout of ${version} was started by ${actor}`,
  },
  "rollout.wave_opened": {
    when: "the next wave of a rollout opens",
    fields: "`version`, `actor`, `rollout`, `open`: how many waves are open",
    sentence: ({ version, open }) => `wave ${open} of the rollout of ${version} is open`,
  },
  "rollout.halted": {
    when: "a rollout stops by itself",
    fields: "`version`, `actor` (`hub`), `rollout`, `reason`, `open`",
    sentence: ({ version }) => `the rollout of ${version} has halted`,
  },
  "rollout.finished": {
    when: "a rollout has ended",
    fields: "`version` (null when replaced), `actor`, `rollout`, `state`: `completed`, `aborted` or `replaced`",
    sentence: ({ version, state }) => `the rollout${version === null ? "" : ` of ${version}`} is ${state}`,
  },
  "trust.changed": {
    when: "hosts are to follow a [trust root](contract/trust.md), or a new version of it",
    fields: "`version` (null), `actor`, `root_id`, `root_version`, `signers`: public keys, separated by spaces",
    sentence: ({ root_version: version, root_id: id, actor }) =>
      `version ${version} of the trust root ${id} names the signers, published by ${actor}`,
  },
  "host.failed": {
    when: "a version fails on a host, or is rolled back there",
    fields: "`version`, `host_id`, `status`: `failed` or `rolled_back`, `error_message` or null",
    sentence: ({ version, host_id: host, status }) =>
      `${host} ${status === "rolled_back" ? "rolled back" : "failed to deploy"} ${version}`,
  },
  "host.waiting": {
    when: "a host cannot take a version, and [not because of the version](contract/marketplace.md#reports)",
    fields: "`version`, `host_id`, `cause`, `error_message` or null",
    sentence: ({ version, host_id: host }) => `${host} waits with ${version}`,
  },
  "host.unhealthy": {
    when: "what a host runs became [unhealthy](applications.md#health) after its deployment",
    fields: "`version` that runs, `host_id`, `since`, `error_message` or null",
    sentence: ({ version, host_id: host }) => `${host} is unhealthy with ${version ?? "what it runs"}`,
  },
  "host.healthy": {
    when: "what a host runs is healthy again, or another version is",
    fields: "`version` that runs, `host_id`, `since`",
    sentence: ({ version, host_id: host }) => `${host} is healthy with ${version ?? "what it runs"}`,
  },
  "host.out_of_service": {
    when: "somebody takes a host [out of service](rollouts.md#hosts-that-are-out-of-service)",
    fields: "`version` (null), `actor`, `host_id`, `reason`",
    sentence: ({ host_id: host, actor, reason }) => `${host} was taken out of service by ${actor}: ${reason}`,
  },
  "host.in_service": {
    when: "somebody takes a host back into service",
    fields: "`version` (null), `actor`, `host_id`",
    sentence: ({ host_id: host, actor }) => `${host} is in service again, says ${actor}`,
  },
} satisfies Record<string, Event>;

/** Event that a webhook can subscribe to. */
export type SubscribedEvent = keyof typeof EVENTS;
export const WEBHOOK_EVENTS = Object.keys(EVENTS) as [SubscribedEvent, ...SubscribedEvent[]];

/** Message that is sent on request only. */
export const TEST_EVENT = "webhook.test";
const TEST: Event = {
  when: "`sealift webhook test` asks for it",
  fields: "none; `target` is empty",
  sentence: () => "this is a test",
};

/** Type of a message. */
export type WebhookEvent = SubscribedEvent | typeof TEST_EVENT;

/** Returns the texts of a type of message. */
export const textsOf = (event: WebhookEvent): Event => (event === TEST_EVENT ? TEST : EVENTS[event]);

export const WEBHOOK_FORMATS = ["json", "slack"] as const;

/** Message as receivers get it. */
export interface WebhookMessage {
  type: WebhookEvent;
  /** Time of the event, ISO 8601. */
  timestamp: string;
  data: {
    /** Target as people write it: `plugin:SLUG`, `service:SLUG` or `project:ID`. */
    target: string;
    /** Name of the target at the hub. */
    name: string;
    version: string | null;
    /** Owner of the key that did it; `hub` for actions of the hub itself. Omitted for reports of hosts. */
    actor?: string;
    reason?: string | null;
    /** Version to use instead of a deprecated one. */
    replaced_by?: string | null;
    /** SHA-256 of the published bytes, hexadecimal. */
    sha256?: string;
    /** Whether new versions require approval. */
    required?: boolean;
    rollout?: string;
    /** Trust root that names the signers, its version, and their public keys, separated by spaces. */
    root_id?: string;
    root_version?: number;
    signers?: string;
    /** Number of open waves. */
    open?: number;
    /** End of a rollout. */
    state?: "completed" | "aborted" | "replaced";
    host_id?: string;
    status?: "failed" | "rolled_back";
    /** Why a host waits. */
    cause?: WaitCause;
    error_message?: string | null;
    /** Time of the host at which its health changed, ISO 8601. */
    since?: string;
  };
}
