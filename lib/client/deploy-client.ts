import type * as z from "zod";
import * as routes from "../contract/deploy/routes.ts";
import { SealiftError } from "../contract/errors.ts";
import {
  authAnswer,
  authorizeAnswer,
  type HubLocation,
  hubLocation,
  type LatestAnswer,
  latestAnswer,
  type ProjectReport,
  projectReportAnswer,
} from "../contract/surfaces/deploy.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import type { RootMark } from "../contract/trust/marks.ts";
import { callOf } from "./ask.ts";
import { download, type DownloadOptions } from "./download.ts";
import type { HttpRequest } from "./http.ts";
import { hostHeaders, type HubConnection } from "./hub-connection.ts";
import { call, callIfChanged, type Conditional } from "./json-request.ts";

/**
 * Share of a session's life after which it is renewed, with jitter: otherwise all agents of a fleet that started
 * together would return together.
 */
const RENEW_AFTER_PART = 0.8;
const RENEW_SPREAD_PART = 0.15;
/** Delay before a failed renewal is tried again while the session lives, in milliseconds. */
const RENEW_AGAIN_MS = 30_000;

interface Session {
  token: string;
  /** Name of the project, if the hub states it. */
  projectName: string | undefined;
  /** Time of the renewal, by `performance.now()`. */
  renewAt: number;
  endsAt: number;
}

/**
 * Client of surface B for one project. Renews its session before that ends, and once more when it is rejected with 401.
 */
export class DeployClient {
  readonly #options: HubConnection;
  readonly #projectId: string;
  #session: Promise<Session> | undefined;
  /** Secrets sent to the hub by this client, which any later answer might repeat. */
  readonly #secrets = new Set<string>();

  constructor(projectId: string, options: HubConnection) {
    this.#options = options;
    this.#projectId = projectId;
    this.#secrets.add(options.apiKey);
  }

  /** Opens a session. @throws AuthenticationError on 401 and 403, DeploymentError otherwise */
  async authenticate(): Promise<void> {
    await this.#liveSession();
  }

  /** Returns the project's name, if the hub states it. @throws as {@link authenticate} */
  async projectName(): Promise<string | undefined> {
    return (await this.#liveSession()).projectName;
  }

  async #liveSession(): Promise<Session> {
    const current = this.#session;
    const session = await current?.catch(() => undefined);
    // Several calls may have waited for the same session.
    if (this.#session !== current) return this.#liveSession();
    if (session !== undefined && performance.now() < session.renewAt) return session;
    const next = this.#newSession();
    this.#session = next;
    try {
      return await next;
    } catch (error) {
      if (session !== undefined && performance.now() < session.endsAt) {
        const again = { ...session, renewAt: Math.min(performance.now() + RENEW_AGAIN_MS, session.endsAt) };
        this.#session = Promise.resolve(again);
        return again;
      }
      if (this.#session === next) this.#session = undefined;
      throw error;
    }
  }

  async #newSession(): Promise<Session> {
    const { apiKey, hubUrl } = this.#options;
    const body = { xdevkey: apiKey, project_id: this.#projectId };
    const request: HttpRequest = {
      operation: "auth",
      ...callOf(routes.openSession, { body }, hubUrl),
      secretBody: true,
      secrets: [apiKey],
    };
    const asked = performance.now();
    const answer = await call(request, authAnswer, this.#options);
    const { access_token: token, expires_in: seconds, project_name: projectName } = answer;
    // A hub that does not state how long a session lives answers 401 once it has ended.
    const lifeMs = seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1000;
    const renewAfter = lifeMs * (RENEW_AFTER_PART + RENEW_SPREAD_PART * Math.random());
    return { token, projectName, renewAt: asked + renewAfter, endsAt: asked + lifeMs };
  }

  #withSession<T extends z.ZodType>(request: HttpRequest, schema: T): Promise<z.output<T>> {
    return this.#inSession(request, (withToken) => call(withToken, schema, this.#options));
  }

  async #inSession<T>(request: HttpRequest, exchange: (request: HttpRequest) => Promise<T>): Promise<T> {
    for (let renewed = false; ; renewed = true) {
      const session = await this.#liveSession();
      const { token } = session;
      const withToken: HttpRequest = {
        ...request,
        credentials: { authorization: `Bearer ${token}` },
        secrets: [token, ...this.#secrets],
      };
      try {
        return await exchange(withToken);
      } catch (error) {
        if (renewed || !(error instanceof SealiftError) || error.status !== 401) throw error;
        if ((await this.#session?.catch(() => undefined)) === session) this.#session = undefined;
      }
    }
  }

  /** Returns the latest version. @param running version that this host runs, null for none @throws ArtifactError */
  async latestVersion(running?: string | null): Promise<string> {
    return (await this.#withSession(this.#latestRequest(running), latestAnswer)).version;
  }

  /**
   * Returns the latest version, unless its ETag is `etag`; asked once, without retries.
   *
   * @param running version that this host runs, null for none
   * @param root version of the trust root that it follows; undefined for none
   * @throws ArtifactError
   */
  latestIfChanged(
    etag: string | undefined,
    running?: string | null,
    root?: RootMark,
  ): Promise<Conditional<LatestAnswer>> {
    const asked = this.#latestRequest(running, root);
    return this.#inSession(asked, (request) => callIfChanged(request, etag, latestAnswer, this.#options));
  }

  #latestRequest(running: string | null | undefined, root?: RootMark): HttpRequest {
    const asked = callOf(routes.showLatest, { params: { project_id: this.#projectId } }, this.#options.hubUrl);
    return { operation: "latest", ...asked, headers: hostHeaders(this.#options, running, root) };
  }

  /** Locates a version. @throws ArtifactError */
  async locate(version: string): Promise<HubLocation> {
    const params = { project_id: this.#projectId, version };
    const asked = callOf(routes.locateArtifact, { params }, this.#options.hubUrl);
    const headers = (this.#options.mirrors ?? []).length === 0 ? {} : { [HEADERS.mirrored]: "true" };
    return this.#withSession({ operation: "location", ...asked, headers }, hubLocation);
  }

  /**
   * Releases the DEK: the hub rejects revoked keys and expired credentials here, before any decryption.
   *
   * @throws AuthenticationError on 401 and 403, ArtifactError otherwise
   */
  async authorize(deploymentCredential: string, signature: string): Promise<Buffer> {
    this.#secrets.add(deploymentCredential);
    const body = { deployment_credential: deploymentCredential, artifact_signature: signature };
    const request: HttpRequest = {
      operation: "authorize",
      ...callOf(routes.authorizeDeployment, { body }, this.#options.hubUrl),
      secretBody: true,
      isRepeatable: true,
    };
    return Buffer.from((await this.#withSession(request, authorizeAnswer)).dek, "base64");
  }

  /**
   * Streams the ciphertext of a version, or of a delta that leads to it. Renews a URL that expires meanwhile.
   *
   * @param at returns the URL from a location: the artifact's own by default
   * @throws ArtifactError while it is read
   */
  download(
    version: string,
    location: HubLocation,
    options: Pick<DownloadOptions, "maxBytes" | "expectedBytes" | "mirrors" | "onReceived" | "onResumed" | "kept">,
    at: (location: HubLocation) => string = ({ download_url }) => download_url,
  ): AsyncGenerator<Buffer> {
    const { mirrors: _urls, ...transport } = this.#options;
    return download({
      ...transport,
      ...options,
      url: at(location),
      renew: async () => at(await this.locate(version)),
    });
  }

  /** Sends a deployment report. @param root version of the trust root that the host follows @throws DeploymentError */
  async report(report: ProjectReport, root?: RootMark): Promise<void> {
    const asked = callOf(routes.reportProject, { body: report }, this.#options.hubUrl);
    const headers = hostHeaders(this.#options, undefined, root);
    await this.#withSession({ operation: "report", ...asked, headers }, projectReportAnswer);
  }
}
