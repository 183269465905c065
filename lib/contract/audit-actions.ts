import type { StatementKind } from "./statements/statements.ts";
import type { SubscribedEvent } from "./webhook-events.ts";

/**
 * Owner whose webhooks hear of an action: of the target, or of the host that it is about. On surface A the hosts of a
 * plugin or service belong to others than its owner.
 */
export type Hearer = "target" | "host";

/** Action in the audit log. One with an event says whose webhooks hear it. */
type AuditAction = Described & ({ event?: undefined } | { event: SubscribedEvent; hearer: Hearer });

interface Described {
  /** Phrase for the contract's page: what was done. */
  meaning: string;
  /** The `state` field of the event. */
  state?: "completed" | "aborted" | "replaced";
}

/**
 * Every action of the audit log. The log's filter, webhooks and the contract's page are generated from it. A released
 * action keeps its name.
 */
export const ACTIONS = {
  "key.create": { meaning: "an API key was issued" },
  "key.revoke": { meaning: "a key was revoked" },
  "key.rotate": { meaning: "a key was issued in the place of another one" },
  "project.create": { meaning: "a project, plugin or service was created" },
  "project.rename": { meaning: "a project, plugin or service was given another name" },
  "project.transfer": { meaning: "a project, plugin or service was given to another owner" },
  "project.delete": { meaning: "a project, plugin or service was deleted with all of its versions" },
  "target.change": { meaning: "the description, links or visibility of a plugin or service were changed" },
  "project.approval": {
    meaning: "new versions of a project, plugin or service require approval, or no longer",
    event: "approval.changed",
    hearer: "target",
  },
  "grant.add": { meaning: "another owner may see a private plugin or service" },
  "grant.remove": { meaning: "a grant was taken back" },
  "version.publish": { meaning: "a version was published", hearer: "target", event: "version.published" },
  "version.import": {
    meaning: "a version was imported from a source host",
    hearer: "target",
    event: "version.published",
  },
  "version.stage": {
    meaning: "a version was staged: it waits for approval",
    hearer: "target",
    event: "version.staged",
  },
  "version.approve": {
    meaning: "a staged version was approved, and with that published",
    hearer: "target",
    event: "version.approved",
  },
  "version.reject": {
    meaning: "a staged version was rejected, and its bytes removed",
    hearer: "target",
    event: "version.rejected",
  },
  "version.sign": { meaning: "the author's signature was added to a version of a plugin or service" },
  "version.yank": { meaning: "a version was yanked", hearer: "target", event: "version.yanked" },
  "version.unyank": { meaning: "a yank was taken back", hearer: "target", event: "version.restored" },
  "version.deprecate": { meaning: "somebody advised against a version", hearer: "target", event: "version.deprecated" },
  "version.undeprecate": { meaning: "the advice against a version was taken back" },
  "version.delete": { meaning: "a version was deleted" },
  "version.hold": {
    meaning: "a version is held: `latest` gives it to nobody new",
    hearer: "target",
    event: "version.held",
  },
  "version.release": { meaning: "a person opened a held version to every host" },
  "delta.publish": { meaning: "a delta to a version was published" },
  "index.publish": { meaning: "the sealed index of a version was published" },
  "statement.publish": { meaning: "a statement was added to a version: provenance, an SBOM, or that it is urgent" },
  "signer.add": { meaning: "a signer was registered" },
  "signer.retire": { meaning: "a signer was retired" },
  "signer.revoke": { meaning: "a signer was revoked" },
  "signing-key.register": { meaning: "a developer's signing secret was registered" },
  "signing-key.forget": { meaning: "a developer's signing secret was removed" },
  "admin-key.renew": { meaning: "the administrator's key was replaced by hand" },
  "kek.rotate": { meaning: "a new key-encryption key seals from now on" },
  "invite.create": { meaning: "hosts were invited to a project" },
  "invite.revoke": { meaning: "an invite was revoked" },
  "host.join": { meaning: "a host has joined with an invite, or waits for approval" },
  "host.approve": { meaning: "a host that waited for approval was let in" },
  "host.rename": { meaning: "the key of a host speaks for another name from now on" },
  "host.remove": { meaning: "a host was removed: its keys have ended, and it left the fleet" },
  "host.clone": { meaning: "two machines or more speak for one host in turn: one was cloned after it had joined" },
  "host.forget": { meaning: "a host was removed from a fleet" },
  "host.label": { meaning: "an operator gave a host labels, or took them back" },
  "host.out": { meaning: "an operator took a host out of service", hearer: "target", event: "host.out_of_service" },
  "host.back": { meaning: "an operator took a host back into service", hearer: "target", event: "host.in_service" },
  "host.card": { meaning: "a host has sent its card: its public keys, signed" },
  "settings.upload": { meaning: "settings were uploaded, each sealed to its host" },
  "settings.drop": { meaning: "the card and the settings of a host were removed from the hub; the host keeps its own" },
  "kit.make": { meaning: "a kit was made: the key of a version, sealed to hosts without network" },
  "kit.end": { meaning: "a kit was ended at the hub; a stick that is under way is not reached" },
  "rollout.start": { meaning: "a rollout was started", hearer: "target", event: "rollout.started" },
  "rollout.replace": {
    meaning: "a rollout was replaced by another one",
    hearer: "target",
    event: "rollout.finished",
    state: "replaced",
  },
  "rollout.open": { meaning: "the next wave of a rollout opened", hearer: "target", event: "rollout.wave_opened" },
  "rollout.pause": { meaning: "a rollout was paused" },
  "rollout.resume": { meaning: "a rollout was resumed" },
  "rollout.approve": { meaning: "the next wave of a rollout was approved" },
  "rollout.halt": { meaning: "a rollout halted", hearer: "target", event: "rollout.halted" },
  "rollout.abort": { meaning: "a rollout was aborted", hearer: "target", event: "rollout.finished", state: "aborted" },
  "rollout.complete": {
    meaning: "a rollout was completed",
    hearer: "target",
    event: "rollout.finished",
    state: "completed",
  },
  "web.sign-in": { meaning: "a person signed in by the identity provider" },
  "webhook.add": { meaning: "a webhook was added" },
  "webhook.rotate": { meaning: "the secret of a webhook was replaced" },
  "webhook.enable": { meaning: "a webhook was enabled again" },
  "webhook.disable": { meaning: "the hub disabled a webhook, because nothing arrived" },
  "webhook.remove": { meaning: "a webhook was removed" },
  "publisher.add": { meaning: "a workflow of a CI system was trusted to publish" },
  "publisher.remove": { meaning: "a workflow is trusted no longer" },
  "publisher.exchange": { meaning: "a workflow run got a key of a quarter of an hour" },
  "root.publish": { meaning: "a version of a trust root was published" },
  "trust.change": {
    meaning: "a project, plugin or service follows a trust root, or a new version of it",
    hearer: "target",
    event: "trust.changed",
  },
  "trust.leave": { meaning: "a project, plugin or service follows no trust root any more" },
  "quota.set": { meaning: "a quota was set by hand" },
  "quota.remove": { meaning: "a quota was lifted by hand" },
} as const satisfies Record<string, AuditAction>;

/** Name of an action, such as `version.publish`. */
export type ActionName = keyof typeof ACTIONS;

/** Facts of an entry: what changed, by name. Never a secret. */
export type Facts = Readonly<Record<string, string | number | boolean | null>>;

/** An action with the facts that its entries have. Their names are stored and shown: a released one stays. */
export type Deed = { [A in ActionName]: { action: A } & FactsField<A> }[ActionName];

/** Facts of an entry whose action is not known: each one that some action has. */
export type AnyFacts = { [N in FactName]?: FactOf<keyof ActionFacts, N> | undefined };

type FactName = KeyOfAny<ActionFacts[keyof ActionFacts]>;
type KeyOfAny<F> = F extends unknown ? keyof F : never;
type FactOf<A extends keyof ActionFacts, N> = A extends unknown
  ? N extends keyof ActionFacts[A]
    ? ActionFacts[A][N]
    : never
  : never;

type FactsField<A extends ActionName> = A extends keyof ActionFacts ? { facts: ActionFacts[A] } : { facts?: undefined };

interface OfVersion {
  version: string;
}
interface Reasoned extends OfVersion {
  reason: string | null;
}
/** Bytes that were published. `signer`: public key, Base64. */
interface Published extends OfVersion {
  sha256: string;
  signer?: string | null;
}
interface OfHost {
  host_id: string;
}
interface OfOwner {
  owner: string;
}
interface OfRollout {
  rollout: string;
}
interface Moved {
  from: string;
  to: string;
}
interface OfRoot {
  root_id: string;
  root_version: number;
}
interface OfRolloutVersion extends OfRollout, OfVersion {}

/** Facts by action; an action without a line has none. */
export interface ActionFacts {
  "key.create": OfOwner & {
    scopes: string;
    project_id: string | null;
    expires_at: string | null;
    host?: string;
    acts_for?: string;
  };
  "key.revoke": OfOwner;
  "key.rotate": OfOwner & { new_key: string; ends: string };
  "project.create": { kind: string; slug: string; looks_like?: string };
  "project.rename": Moved;
  "project.transfer": Moved & { keep_keys: boolean; revoked_keys: number };
  "project.delete": OfOwner & {
    kind: string;
    name: string;
    versions: number;
    hosts: number;
    keys: number;
    forced: boolean;
    reason: string | null;
  };
  "target.change": { changed: string; visibility: string | null };
  "project.approval": { required: boolean };
  "grant.add": OfOwner;
  "grant.remove": OfOwner;
  "version.publish": Published;
  "version.import": Published & { repo: string | null };
  "version.stage": Published & { repo?: string | null };
  "version.approve": Published & { staged_by: string | null };
  "version.reject": Published & { staged_by: string | null; reason: string };
  "version.sign": Published;
  "version.yank": OfVersion & { reason?: string | null };
  "version.unyank": OfVersion & { reason?: string | null };
  "version.deprecate": OfVersion & { reason?: string; replaced_by?: string | null };
  "version.undeprecate": OfVersion & { reason?: string; replaced_by?: string | null };
  "version.delete": OfVersion & { reason: string };
  "version.hold": Reasoned & { rollout?: string | null; cause: string | null };
  "version.release": Reasoned;
  "delta.publish": OfVersion & { base_version: string; sha256: string };
  "index.publish": OfVersion & { sha256: string };
  "statement.publish": OfVersion & { kind: StatementKind; sha256: string };
  "signer.add": { signer: string; name: string };
  "signer.retire": { signer: string; reason: string | null };
  "signer.revoke": { signer: string; reason: string | null };
  "kek.rotate": { rewrapped: number; dropped: string };
  "invite.create": { invite_id: string; uses: number; expires_at: string; approve: boolean };
  "invite.revoke": { invite_id: string };
  "host.join": OfHost & { state: string; invite_id: string };
  "host.approve": OfHost;
  "host.rename": Moved;
  "host.remove": OfHost & { keys: number };
  "host.clone": OfHost & { addresses: string };
  "host.forget": OfHost;
  "host.label": OfHost & { labels: string | null };
  "host.out": OfHost & { reason: string };
  "host.back": OfHost;
  /** `before`: fingerprint of the card that it replaces; null for none. */
  "host.card": OfHost & { fingerprint: string; before: string | null };
  /** `hosts`: how many. */
  "settings.upload": { hosts: number; settings_version: number };
  /** `number`: of the newest document; null for a host that had a card alone. */
  "settings.drop": OfHost & { number: number | null };
  /** `hosts_project_id`: project of the hosts, for a plugin or service. */
  "kit.make": OfVersion & { kit: string; hosts: number; ends_at: string; hosts_project_id?: string };
  "kit.end": OfVersion & { kit: string };
  "rollout.start": OfRolloutVersion;
  "rollout.replace": OfRollout;
  "rollout.open": OfRolloutVersion & { open: number; reason: string | null };
  "rollout.pause": OfRolloutVersion & { reason: string | null };
  "rollout.resume": OfRolloutVersion & { reason: string | null };
  "rollout.approve": OfRolloutVersion & { reason: string | null };
  "rollout.halt": OfRolloutVersion & { open: number; reason: string | null };
  "rollout.abort": OfRolloutVersion & { reason: string | null };
  "rollout.complete": OfRolloutVersion & { open: number; reason: string | null };
  "web.sign-in": OfOwner & { scopes: string; project_id: string | null; revoked?: string };
  "webhook.add": { origin: string; format: string };
  "webhook.disable": { reason: string; failing_since: string };
  "webhook.remove": { origin: string };
  "publisher.add": { name: string; issuer: string; target: string; scope: string; claims: string };
  "publisher.remove": { name: string };
  "publisher.exchange": { publisher: string; issuer: string; sub: string };
  /** `digest`: SHA-256 of what its signatures are over; `targets`: how many follow it. */
  "root.publish": OfRoot & { digest: string; targets: number };
  /** `signers`: public keys, hexadecimal, separated by spaces. */
  "trust.change": OfRoot & { signers: string };
  "trust.leave": OfRoot;
  "quota.set": { max_bytes: number | null; max_versions: number | null };
}

/** Returns the facts of an action, with all fields that an action may have. */
export const factsOfAction = (name: string): AuditAction | undefined =>
  Object.hasOwn(ACTIONS, name) ? ACTIONS[name as ActionName] : undefined;
