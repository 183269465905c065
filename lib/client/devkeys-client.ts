import { listAudit } from "../contract/audit/routes.ts";
import { SealiftError } from "../contract/errors.ts";
import type { Deprecation } from "../contract/facts/version.ts";
import * as fleets from "../contract/fleets/routes.ts";
import * as keys from "../contract/keys/routes.ts";
import type { Labels } from "../contract/labels.ts";
import * as marketplace from "../contract/marketplace/routes.ts";
import * as projects from "../contract/projects/routes.ts";
import type { Route } from "../contract/route.ts";
import * as signers from "../contract/signers/routes.ts";
import * as signingKey from "../contract/signing-key/routes.ts";
import type {
  ApiKeyRecord,
  AuditRecord,
  CreatedKey,
  CreateKeyRequest,
  CreateProjectRequest,
  KeyState,
  ManagedVersion,
  ProjectChanges,
  ProjectDeletion,
  ProjectRecord,
  TransferAnswer,
  TransferRequest,
} from "../contract/surfaces/keys.ts";
import type { AuthorSignature, GrantRecord, SigningKeyRecord } from "../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../contract/surfaces/paths.ts";
import type { SignerRecord } from "../contract/surfaces/signers.ts";
import * as versions from "../contract/versions/routes.ts";
import { ask, type Asking, askPages, type RouteInput } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";

/**
 * Client of the key service (docs/contract/keys.md). @throws AuthenticationError on 401 and 403, DeploymentError
 * otherwise
 */
export class DevkeysClient {
  readonly #asking: Asking;

  constructor(hub: HubConnection) {
    this.#asking = { operation: "keys", hub };
  }

  createProject(project: CreateProjectRequest): Promise<ProjectRecord> {
    return this.#ask(projects.createProject, { body: project });
  }

  project(id: string): Promise<ProjectRecord> {
    return this.#ask(projects.showProject, { params: { id } });
  }

  createKey(key: CreateKeyRequest): Promise<CreatedKey> {
    return this.#ask(keys.createKey, { body: key });
  }

  /**
   * Lists the caller's keys, without secrets, page by page.
   *
   * @param state only live or ended ones; a hub of 0.1.0 lists all
   */
  listKeys(state?: KeyState): AsyncGenerator<ApiKeyRecord> {
    return this.#pages(keys.listKeys, { query: state === undefined ? {} : { state } });
  }

  listProjects(): AsyncGenerator<ProjectRecord> {
    return this.#pages(projects.listProjects, {});
  }

  renameProject(id: string, changes: ProjectChanges): Promise<ProjectRecord> {
    return this.#ask(projects.renameProject, { params: { id }, body: changes });
  }

  /** Gives a project to another owner; for administrators. */
  transferProject(id: string, transfer: TransferRequest): Promise<TransferAnswer> {
    return this.#ask(projects.transferProject, { params: { id }, body: transfer });
  }

  /** Returns what deleting a project would remove; for administrators. */
  projectDeletion(id: string): Promise<ProjectDeletion> {
    return this.#ask(projects.showDeletion, { params: { id } });
  }

  /** Deletes a project for good; for administrators. @throws DeploymentError `project_in_use` while hosts report */
  deleteProject(id: string, { force, reason }: { force: boolean; reason?: string }): Promise<ProjectDeletion> {
    return this.#ask(projects.deleteProject, { params: { id }, query: { force, reason } });
  }

  /** Lists the versions of a project, plugin or service by its id, newest first, page by page. */
  listVersions(id: string): AsyncGenerator<ManagedVersion> {
    return this.#pages(versions.listVersions, { params: { id } });
  }

  /** Yanks a version. */
  yankVersion(id: string, version: string, reason?: string): Promise<void> {
    return this.#ask(versions.yankVersion, { params: { id, version }, body: { reason } });
  }

  /** Restores a yanked version. */
  unyankVersion(id: string, version: string): Promise<void> {
    return this.#ask(versions.unyankVersion, { params: { id, version } });
  }

  /** Deprecates a version. @param advice null takes it back */
  deprecateVersion(id: string, version: string, advice: Deprecation | null): Promise<void> {
    const params = { id, version };
    return advice === null
      ? this.#ask(versions.undeprecateVersion, { params })
      : this.#ask(versions.deprecateVersion, { params, body: advice });
  }

  /** Opens a held version to every host. @returns false when it is already open */
  async releaseVersion(id: string, version: string, reason?: string): Promise<boolean> {
    return (await this.#ask(versions.releaseVersion, { params: { id, version }, body: { reason } })).released;
  }

  /** Adds its author's signature to a version of a plugin or service. */
  signVersion(id: string, version: string, signature: AuthorSignature): Promise<void> {
    return this.#ask(signers.signVersion, { params: { id, version }, body: signature });
  }

  /** Deletes a version for good; its label is never used again. */
  deleteVersion(id: string, version: string, reason: string): Promise<void> {
    return this.#ask(versions.deleteVersion, { params: { id, version }, query: { reason } });
  }

  /** Lists the signers of a project, plugin or service, page by page. */
  listSigners(id: string): AsyncGenerator<SignerRecord> {
    return this.#pages(signers.listSigners, { params: { id } });
  }

  /** Adds a signer. @param key hexadecimal */
  addSigner(id: string, key: string, name?: string): Promise<SignerRecord> {
    return this.#ask(signers.addSigner, { params: { id }, body: { public_key: key, name } });
  }

  /** Retires or revokes a signer. @param key hexadecimal */
  endSigner(id: string, key: string, how: "retire" | "revoke", reason?: string): Promise<SignerRecord> {
    return this.#ask(how === "retire" ? signers.retireSigner : signers.revokeSigner, {
      params: { id, key },
      body: { reason },
    });
  }

  /** Gives a host of the fleet labels in place of its own; null takes that back. */
  labelHost(id: string, host: string, labels: Labels | null): Promise<void> {
    return this.#ask(fleets.labelHost, { params: { id, host_id: host }, body: { labels } });
  }

  /** Takes a host of the fleet out of service, for a reason; null takes it back. */
  serveHost(id: string, host: string, outOfService: string | null): Promise<void> {
    return this.#ask(fleets.serveHost, { params: { id, host_id: host }, body: { out_of_service: outOfService } });
  }

  /** Lists the owners who may see a private plugin or service, page by page. */
  listGrants(kind: MarketplaceKind, slug: string): AsyncGenerator<GrantRecord> {
    return this.#pages(marketplace.listGrants[kind], { params: { slug } });
  }

  addGrant(kind: MarketplaceKind, slug: string, owner: string): Promise<GrantRecord> {
    return this.#ask(marketplace.addGrant[kind], { params: { slug }, body: { owner } });
  }

  removeGrant(kind: MarketplaceKind, slug: string, owner: string): Promise<void> {
    return this.#ask(marketplace.removeGrant[kind], { params: { slug, owner } });
  }

  /** Issues a key with the rights of another one, which ends after a grace period. */
  rotateKey(id: string, graceSeconds: number): Promise<CreatedKey> {
    return this.#ask(keys.rotateKey, { params: { id }, body: { grace_seconds: graceSeconds } });
  }

  /** Revokes a key and its deployment credential at once. */
  revokeKey(id: string): Promise<void> {
    return this.#ask(keys.revokeKey, { params: { id } });
  }

  /** Registers the owner's signing secret for archives that the hub imports, replacing any earlier one. */
  registerSigningKey(secret: string): Promise<SigningKeyRecord> {
    return this.#ask(signingKey.registerSigningKey, { body: { secret } });
  }

  /** Returns since when a signing secret is registered; undefined for none. */
  async signingKey(): Promise<SigningKeyRecord | undefined> {
    try {
      return await this.#ask(signingKey.showSigningKey, {});
    } catch (error) {
      if (error instanceof SealiftError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Removes the signing secret from the hub. */
  forgetSigningKey(): Promise<void> {
    return this.#ask(signingKey.forgetSigningKey, {});
  }

  /** Lists the audit log of the hub, newest first, for administrators. */
  listAudit(filters: { since?: string; until?: string; action?: string; actor?: string }): AsyncGenerator<AuditRecord> {
    return this.#pages(listAudit, { query: filters });
  }

  #ask<R extends Route>(route: R, question: RouteInput<R>): ReturnType<typeof ask<R>> {
    return ask(route, question, this.#asking);
  }

  #pages<R extends Route>(route: R, question: RouteInput<R>): ReturnType<typeof askPages<R>> {
    return askPages(route, question, this.#asking);
  }
}
