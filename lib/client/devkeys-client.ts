import type * as z from "zod";
import { SealiftError } from "../contract/errors.ts";
import type { Labels } from "../contract/labels.ts";
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
  page,
  type ProjectRecord,
  projectRecord,
  type TransferAnswer,
  transferAnswer,
  type TransferRequest,
  versionReleased,
} from "../contract/surfaces/keys.ts";
import {
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
import {
  type DeliveryRecord,
  deliveryRecord,
  redeliveryAnswer,
  type WebhookRecord,
  webhookRecord,
  type WebhookRequest,
  type WebhookSecret,
  webhookSecret,
  type WebhookTest,
  webhookTest,
} from "../contract/surfaces/webhooks.ts";
import { statusError } from "./answers.ts";
import { type HttpRequest, send } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { call } from "./json-request.ts";

/** The key service (docs/contract/keys.md). @throws AuthenticationError on 401 and 403, DeploymentError otherwise */
export class DevkeysClient {
  readonly #options: HubConnection;
  readonly #base: string;

  constructor(options: HubConnection) {
    this.#options = options;
    this.#base = baseUrl(options.hubUrl);
  }

  createProject(project: { name: string; kind: ProjectRecord["kind"]; slug?: string }): Promise<ProjectRecord> {
    return call(this.#request("POST", paths.projects(), project), projectRecord, this.#options);
  }

  createKey(key: CreateKeyRequest): Promise<CreatedKey> {
    return call(this.#request("POST", paths.apiKeys(), key), createdKey, this.#options);
  }

  /** Own keys, without secrets, page by page. */
  listKeys(): AsyncGenerator<ApiKeyRecord> {
    return this.#pages(paths.apiKeys(), apiKeyRecord);
  }

  listProjects(): AsyncGenerator<ProjectRecord> {
    return this.#pages(paths.projects(), projectRecord);
  }

  renameProject(id: string, name: string): Promise<ProjectRecord> {
    return call(this.#request("PATCH", paths.project(id), { name }), projectRecord, this.#options);
  }

  /** Gives a project to another owner; for administrators. */
  transferProject(id: string, transfer: TransferRequest): Promise<TransferAnswer> {
    return call(this.#request("POST", paths.transfer(id), transfer), transferAnswer, this.#options);
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

  /** Opens a held version to every host. @returns false when every host may have it already */
  async releaseVersion(id: string, version: string, reason?: string): Promise<boolean> {
    const body = reason === undefined ? {} : { reason };
    const request = this.#request("POST", paths.versionRelease(id, version), body);
    return (await call(request, versionReleased, this.#options)).released;
  }

  /** Deletes a version for good; its label is never used again. */
  deleteVersion(id: string, version: string, reason: string): Promise<void> {
    return this.#ended("DELETE", `${paths.version(id, version)}?${new URLSearchParams({ reason }).toString()}`);
  }

  /** The signers of a project, page by page. */
  listSigners(id: string): AsyncGenerator<SignerRecord> {
    return this.#pages(paths.signers(id), signerRecord);
  }

  /** Lets a key sign what is published to a project. @param key hexadecimal */
  addSigner(id: string, key: string, name?: string): Promise<SignerRecord> {
    const body = { public_key: key, ...(name !== undefined && { name }) };
    return call(this.#request("POST", paths.signers(id), body), signerRecord, this.#options);
  }

  /** Retires or revokes a signer. @param key hexadecimal */
  endSigner(id: string, key: string, how: "retire" | "revoke", reason?: string): Promise<SignerRecord> {
    const body = reason === undefined ? {} : { reason };
    return call(this.#request("POST", `${paths.signers(id)}/${key}/${how}`, body), signerRecord, this.#options);
  }

  /** Starts a rollout of a version of a project, plugin or service. */
  startRollout(id: string, request: RolloutRequest): Promise<RolloutRecord> {
    return call(this.#request("POST", paths.rollouts(id), request), rolloutRecord, this.#options);
  }

  /** Rollouts of a project, plugin or service, newest first, page by page. */
  listRollouts(id: string): AsyncGenerator<RolloutRecord> {
    return this.#pages(paths.rollouts(id), rolloutRecord);
  }

  rollout(id: string, rollout: string): Promise<RolloutRecord> {
    return call(this.#request("GET", paths.rollout(id, rollout)), rolloutRecord, this.#options);
  }

  /** Pauses, resumes, approves or aborts a rollout. */
  actOnRollout(id: string, rollout: string, action: RolloutAction, change: RolloutChange): Promise<RolloutRecord> {
    const request = this.#request("POST", `${paths.rollout(id, rollout)}/${action}`, change);
    return call(request, rolloutRecord, this.#options);
  }

  /** Gives a host of the fleet labels in place of its own; null takes that back. */
  labelHost(id: string, host: string, labels: Labels | null): Promise<void> {
    return this.#ended("PUT", paths.hostLabels(id, host), { labels });
  }

  /** Registers a receiver of events. Its secret is shown this once. */
  addWebhook(webhook: WebhookRequest): Promise<WebhookSecret> {
    const request = this.#request("POST", paths.webhooks(), webhook);
    request.secretBody = true;
    request.secrets = [...request.secrets!, webhook.url];
    return call(request, webhookSecret, this.#options);
  }

  /** Own webhooks, page by page. */
  listWebhooks(): AsyncGenerator<WebhookRecord> {
    return this.#pages(paths.webhooks(), webhookRecord);
  }

  /** Messages of a webhook that wait or are dead, newest first, page by page. */
  listDeliveries(id: string): AsyncGenerator<DeliveryRecord> {
    return this.#pages(`${paths.webhook(id)}/deliveries`, deliveryRecord);
  }

  /** Sends a message to a webhook now. */
  testWebhook(id: string): Promise<WebhookTest> {
    return call(this.#request("POST", `${paths.webhook(id)}/test`), webhookTest, this.#options);
  }

  /** Has one dead message sent again, or all of them. */
  async redeliver(id: string, delivery?: string): Promise<number> {
    const body = delivery === undefined ? {} : { delivery };
    const request = this.#request("POST", `${paths.webhook(id)}/redeliver`, body);
    return (await call(request, redeliveryAnswer, this.#options)).redelivered;
  }

  /** Gives a webhook another secret; messages are signed with the old one, too, for a grace. */
  rotateWebhook(id: string, graceSeconds: number): Promise<WebhookSecret> {
    const request = this.#request("POST", `${paths.webhook(id)}/rotate`, { grace_seconds: graceSeconds });
    return call(request, webhookSecret, this.#options);
  }

  /** Lets a webhook that the hub has disabled hear of events again. */
  enableWebhook(id: string): Promise<WebhookRecord> {
    return call(this.#request("POST", `${paths.webhook(id)}/enable`), webhookRecord, this.#options);
  }

  removeWebhook(id: string): Promise<void> {
    return this.#ended("DELETE", paths.webhook(id));
  }

  /** Owners who may see a private plugin or service, page by page. */
  listGrants(kind: MarketplaceKind, slug: string): AsyncGenerator<GrantRecord> {
    return this.#pages(paths.grants(kind, slug), grantRecord);
  }

  addGrant(kind: MarketplaceKind, slug: string, owner: string): Promise<GrantRecord> {
    return call(this.#request("POST", paths.grants(kind, slug), { owner }), grantRecord, this.#options);
  }

  removeGrant(kind: MarketplaceKind, slug: string, owner: string): Promise<void> {
    return this.#ended("DELETE", paths.grant(kind, slug, owner));
  }

  /** Issues a key with the rights of another one, which ends after a grace. */
  rotateKey(id: string, graceSeconds: number): Promise<CreatedKey> {
    return call(
      this.#request("POST", `${paths.apiKey(id)}/rotate`, { grace_seconds: graceSeconds }),
      createdKey,
      this.#options,
    );
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
      return await call(this.#request("GET", paths.signingKey()), signingKeyRecord, this.#options);
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

  /** A request whose answer says nothing. */
  async #ended(method: HttpRequest["method"], path: string, json?: unknown): Promise<void> {
    const request = this.#request(method, path, json);
    const response = await send(request, this.#options);
    if (response.status !== 204) throw await statusError(response, request);
    response.body.resume();
  }

  async *#pages<T extends z.ZodType>(path: string, item: T): AsyncGenerator<z.output<T>> {
    let cursor: string | null = null;
    do {
      const joint = path.includes("?") ? "&" : "?";
      const query: string = cursor === null ? "" : `${joint}cursor=${encodeURIComponent(cursor)}`;
      const found: { items: z.output<T>[]; next: string | null } = await call(
        this.#request("GET", path + query),
        page(item),
        this.#options,
      );
      yield* found.items;
      cursor = found.next;
    } while (cursor !== null);
  }

  #request(method: HttpRequest["method"], path: string, json?: unknown): HttpRequest {
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
