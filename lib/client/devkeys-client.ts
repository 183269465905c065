import type * as z from "zod";
import { SealiftError } from "../contract/errors.ts";
import type { Labels } from "../contract/labels.ts";
import { page } from "../contract/paging.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import {
  type ApiKeyRecord,
  apiKeyRecord,
  type AuditRecord,
  auditRecord,
  type CreatedKey,
  createdKey,
  type CreateKeyRequest,
  type ManagedVersion,
  managedVersion,
  type ProjectDeletion,
  projectDeletion,
  type ProjectRecord,
  projectRecord,
  type TransferAnswer,
  transferAnswer,
  type TransferRequest,
  versionReleased,
} from "../contract/surfaces/keys.ts";
import {
  type AuthorSignature,
  type GrantRecord,
  grantRecord,
  type SigningKeyRecord,
  signingKeyRecord,
} from "../contract/surfaces/marketplace.ts";
import { baseUrl, type MarketplaceKind, paths } from "../contract/surfaces/paths.ts";
import {
  type RolloutAction,
  type RolloutChange,
  type RolloutRecord,
  rolloutRecord,
  type RolloutRequest,
} from "../contract/surfaces/rollouts.ts";
import { type SignerRecord, signerRecord } from "../contract/surfaces/signers.ts";
import type { Deprecation } from "../contract/surfaces/version-facts.ts";
import * as webhooks from "../contract/surfaces/webhooks.ts";
import { statusError } from "./answers.ts";
import { type HttpRequest, send } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { call } from "./json-request.ts";

type Asked = [method: HttpRequest["method"], path: string, json?: unknown];

/** The key service (docs/contract/keys.md). @throws AuthenticationError on 401 and 403, DeploymentError otherwise */
export class DevkeysClient {
  readonly #options: HubConnection;
  readonly #base: string;

  constructor(options: HubConnection) {
    this.#options = options;
    this.#base = baseUrl(options.hubUrl);
  }

  createProject(project: { name: string; kind: ProjectRecord["kind"]; slug?: string }): Promise<ProjectRecord> {
    return this.#call(projectRecord, "POST", paths.projects(), project);
  }

  createKey(key: CreateKeyRequest): Promise<CreatedKey> {
    return this.#call(createdKey, "POST", paths.apiKeys(), key);
  }

  /** Own keys, without secrets, page by page. */
  listKeys(): AsyncGenerator<ApiKeyRecord> {
    return this.#pages(paths.apiKeys(), apiKeyRecord);
  }

  listProjects(): AsyncGenerator<ProjectRecord> {
    return this.#pages(paths.projects(), projectRecord);
  }

  renameProject(id: string, name: string): Promise<ProjectRecord> {
    return this.#call(projectRecord, "PATCH", paths.project(id), { name });
  }

  /** Gives a project to another owner; for administrators. */
  transferProject(id: string, transfer: TransferRequest): Promise<TransferAnswer> {
    return this.#call(transferAnswer, "POST", paths.transfer(id), transfer);
  }

  /** Tells what the deletion of a project would take; for administrators. */
  projectDeletion(id: string): Promise<ProjectDeletion> {
    return this.#call(projectDeletion, "GET", paths.deletion(id));
  }

  /** Deletes a project for good; for administrators. @throws DeploymentError `project_in_use` while hosts report */
  deleteProject(id: string, { force, reason }: { force: boolean; reason?: string }): Promise<ProjectDeletion> {
    const query = new URLSearchParams({ force: String(force), ...(reason !== undefined && { reason }) }).toString();
    return this.#call(projectDeletion, "DELETE", `${paths.project(id)}?${query}`);
  }

  /** Versions of a project, plugin or service by its id, newest first, page by page. */
  listVersions(id: string): AsyncGenerator<ManagedVersion> {
    return this.#pages(paths.versions(id), managedVersion);
  }

  /** Takes a version out of `latest`. */
  yankVersion(id: string, version: string, reason?: string): Promise<void> {
    return this.#ended("POST", paths.versionYank(id, version), reason === undefined ? {} : { reason });
  }

  /** Lets a version be latest again. */
  unyankVersion(id: string, version: string): Promise<void> {
    return this.#ended("DELETE", paths.versionYank(id, version));
  }

  /** Advises against a version. @param advice null takes that back */
  deprecateVersion(id: string, version: string, advice: Deprecation | null): Promise<void> {
    return this.#ended(advice ? "POST" : "DELETE", paths.versionDeprecation(id, version), advice ?? undefined);
  }

  /** Opens a held version to every host. @returns false when every host may have it already */
  async releaseVersion(id: string, version: string, reason?: string): Promise<boolean> {
    return (await this.#call(versionReleased, "POST", paths.versionRelease(id, version), { reason })).released;
  }

  /** Adds its author's signature to a version of a plugin or service. */
  signVersion(id: string, version: string, signature: AuthorSignature): Promise<void> {
    return this.#ended("PUT", paths.versionSignature(id, version), signature);
  }

  /** Deletes a version for good; its label is never used again. */
  deleteVersion(id: string, version: string, reason: string): Promise<void> {
    return this.#ended("DELETE", `${paths.version(id, version)}?${new URLSearchParams({ reason }).toString()}`);
  }

  /** The signers of a project, plugin or service, page by page. */
  listSigners(id: string): AsyncGenerator<SignerRecord> {
    return this.#pages(paths.signers(id), signerRecord);
  }

  /** Lets a key sign what is published. @param key hexadecimal */
  addSigner(id: string, key: string, name?: string): Promise<SignerRecord> {
    return this.#call(signerRecord, "POST", paths.signers(id), { public_key: key, name });
  }

  /** Retires or revokes a signer. @param key hexadecimal */
  endSigner(id: string, key: string, how: "retire" | "revoke", reason?: string): Promise<SignerRecord> {
    return this.#call(signerRecord, "POST", `${paths.signers(id)}/${key}/${how}`, { reason });
  }

  /** Starts a rollout of a version of a project, plugin or service. */
  startRollout(id: string, request: RolloutRequest): Promise<RolloutRecord> {
    return this.#call(rolloutRecord, "POST", paths.rollouts(id), request);
  }

  /** Rollouts of a project, plugin or service, newest first, page by page. */
  listRollouts(id: string): AsyncGenerator<RolloutRecord> {
    return this.#pages(paths.rollouts(id), rolloutRecord);
  }

  rollout(id: string, rollout: string): Promise<RolloutRecord> {
    return this.#call(rolloutRecord, "GET", paths.rollout(id, rollout));
  }

  /** Pauses, resumes, approves or aborts a rollout. */
  actOnRollout(id: string, rollout: string, action: RolloutAction, change: RolloutChange): Promise<RolloutRecord> {
    return this.#call(rolloutRecord, "POST", `${paths.rollout(id, rollout)}/${action}`, change);
  }

  /** Gives a host of the fleet labels in place of its own; null takes that back. */
  labelHost(id: string, host: string, labels: Labels | null): Promise<void> {
    return this.#ended("PUT", paths.hostLabels(id, host), { labels });
  }

  /** Registers a receiver of events. Its secret is shown this once. */
  addWebhook(webhook: webhooks.WebhookRequest): Promise<webhooks.WebhookSecret> {
    const request = this.#request("POST", paths.webhooks(), webhook);
    request.secretBody = true;
    request.secrets = [...request.secrets!, webhook.url];
    return call(request, webhooks.webhookSecret, this.#options);
  }

  /** Own webhooks, page by page. */
  listWebhooks(): AsyncGenerator<webhooks.WebhookRecord> {
    return this.#pages(paths.webhooks(), webhooks.webhookRecord);
  }

  /** Messages of a webhook that wait or are dead, newest first, page by page. */
  listDeliveries(id: string): AsyncGenerator<webhooks.DeliveryRecord> {
    return this.#pages(`${paths.webhook(id)}/deliveries`, webhooks.deliveryRecord);
  }

  /** Sends a message to a webhook now. */
  testWebhook(id: string): Promise<webhooks.WebhookTest> {
    return this.#call(webhooks.webhookTest, "POST", `${paths.webhook(id)}/test`);
  }

  /** Has one dead message sent again, or all of them. */
  async redeliver(id: string, delivery?: string): Promise<number> {
    const path = `${paths.webhook(id)}/redeliver`;
    return (await this.#call(webhooks.redeliveryAnswer, "POST", path, { delivery })).redelivered;
  }

  /** Gives a webhook another secret; messages are signed with the old one, too, for a grace. */
  rotateWebhook(id: string, graceSeconds: number): Promise<webhooks.WebhookSecret> {
    return this.#call(webhooks.webhookSecret, "POST", `${paths.webhook(id)}/rotate`, { grace_seconds: graceSeconds });
  }

  /** Lets a webhook that the hub has disabled hear of events again. */
  enableWebhook(id: string): Promise<webhooks.WebhookRecord> {
    return this.#call(webhooks.webhookRecord, "POST", `${paths.webhook(id)}/enable`);
  }

  removeWebhook(id: string): Promise<void> {
    return this.#ended("DELETE", paths.webhook(id));
  }

  /** Owners who may see a private plugin or service, page by page. */
  listGrants(kind: MarketplaceKind, slug: string): AsyncGenerator<GrantRecord> {
    return this.#pages(paths.grants(kind, slug), grantRecord);
  }

  addGrant(kind: MarketplaceKind, slug: string, owner: string): Promise<GrantRecord> {
    return this.#call(grantRecord, "POST", paths.grants(kind, slug), { owner });
  }

  removeGrant(kind: MarketplaceKind, slug: string, owner: string): Promise<void> {
    return this.#ended("DELETE", paths.grant(kind, slug, owner));
  }

  /** Issues a key with the rights of another one, which ends after a grace. */
  rotateKey(id: string, graceSeconds: number): Promise<CreatedKey> {
    return this.#call(createdKey, "POST", `${paths.apiKey(id)}/rotate`, { grace_seconds: graceSeconds });
  }

  /** Revokes a key and its deployment credential at once. */
  revokeKey(id: string): Promise<void> {
    return this.#ended("DELETE", paths.apiKey(id));
  }

  /** Registers the owner's signing secret for archives that the hub imports, in place of an earlier one. */
  registerSigningKey(secret: string): Promise<SigningKeyRecord> {
    const request = this.#request("POST", paths.signingKey(), { secret });
    request.secretBody = true;
    request.secrets = [...request.secrets!, secret];
    return call(request, signingKeyRecord, this.#options);
  }

  /** Since when a signing secret is registered; `undefined` when none is. */
  async signingKey(): Promise<SigningKeyRecord | undefined> {
    try {
      return await this.#call(signingKeyRecord, "GET", paths.signingKey());
    } catch (error) {
      if (error instanceof SealiftError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Has the hub forget the signing secret. */
  forgetSigningKey(): Promise<void> {
    return this.#ended("DELETE", paths.signingKey());
  }

  /** The audit log of the hub, newest first, for administrators. */
  listAudit(filters: { since?: string; until?: string; action?: string; actor?: string }): AsyncGenerator<AuditRecord> {
    const query = new URLSearchParams(Object.entries(filters)).toString();
    return this.#pages(paths.audit() + (query === "" ? "" : `?${query}`), auditRecord);
  }

  #call<T extends z.ZodType>(answer: T, ...request: Asked): Promise<z.output<T>> {
    return call(this.#request(...request), answer, this.#options);
  }

  /** A request whose answer says nothing. */
  async #ended(...asked: Asked): Promise<void> {
    const request = this.#request(...asked);
    const response = await send(request, this.#options);
    if (response.status !== 204) throw await statusError(response, request);
    response.body.resume();
  }

  async *#pages<T extends z.ZodType>(path: string, item: T): AsyncGenerator<z.output<T>> {
    let cursor: string | null = null;
    do {
      const joint = path.includes("?") ? "&" : "?";
      const query: string = cursor === null ? "" : `${joint}cursor=${encodeURIComponent(cursor)}`;
      const found: { items: z.output<T>[]; next: string | null } = await this.#call(page(item), "GET", path + query);
      yield* found.items;
      cursor = found.next;
    } while (cursor !== null);
  }

  #request(...[method, path, json]: Asked): HttpRequest {
    const { apiKey } = this.#options;
    return {
      operation: "keys",
      method,
      url: this.#base + path,
      credentials: { [HEADERS.apiKey]: apiKey },
      secrets: [apiKey],
      ...(json !== undefined && { json }),
    };
  }
}
