import type { Readable } from "node:stream";
import type * as z from "zod";
import { SealiftError } from "../contract/errors.ts";
import {
  type ArtifactLocation,
  authAnswer,
  authorizeAnswer,
  latestAnswer,
  locationAnswer,
  type ProjectReport,
  projectReportAnswer,
} from "../contract/surfaces/deploy.ts";
import { baseUrl, paths } from "../contract/surfaces/paths.ts";
import { download, type DownloadOptions } from "./download.ts";
import type { HttpRequest } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { call, callIfChanged, type Conditional } from "./json-request.ts";

/** Surface B for one project: authenticates once, and once more when the session is refused with 401. */
export class DeployClient {
  readonly #options: HubConnection;
  readonly #projectId: string;
  readonly #base: string;
  #session: Promise<string> | undefined;

  constructor(projectId: string, options: HubConnection) {
    this.#options = options;
    this.#projectId = projectId;
    this.#base = baseUrl(options.hubUrl);
  }

  /** @throws AuthenticationError on 401 and 403, DeploymentError otherwise */
  async authenticate(): Promise<void> {
    this.#session ??= this.#newSession();
    try {
      await this.#session;
    } catch (error) {
      this.#session = undefined;
      throw error;
    }
  }

  async #newSession(): Promise<string> {
    const { apiKey } = this.#options;
    const request: HttpRequest = {
      operation: "auth",
      method: "POST",
      url: this.#base + paths.auth(),
      json: { xdevkey: apiKey, project_id: this.#projectId },
      secretBody: true,
      secrets: [apiKey],
    };
    return (await call(request, authAnswer, this.#options)).access_token;
  }

  #withSession<T extends z.ZodType>(request: HttpRequest, schema: T): Promise<z.output<T>> {
    return this.#inSession(request, (withToken) => call(withToken, schema, this.#options));
  }

  async #inSession<T>(request: HttpRequest, exchange: (request: HttpRequest) => Promise<T>): Promise<T> {
    for (let renewed = false; ; renewed = true) {
      await this.authenticate();
      const token = await this.#session!;
      const withToken: HttpRequest = {
        ...request,
        credentials: { authorization: `Bearer ${token}` },
        secrets: [token, ...(request.secrets ?? [])],
      };
      try {
        return await exchange(withToken);
      } catch (error) {
        if (renewed || !(error instanceof SealiftError) || error.status !== 401) throw error;
        this.#session = undefined;
      }
    }
  }

  /** @throws ArtifactError */
  async latestVersion(): Promise<string> {
    const url = this.#base + paths.latestVersion(this.#projectId);
    return (await this.#withSession({ operation: "latest", method: "GET", url }, latestAnswer)).version;
  }

  /** The latest version, if it is not the one that `etag` stands for; asked once, without retries. @throws ArtifactError */
  latestIfChanged(etag: string | undefined): Promise<Conditional<string>> {
    const url = this.#base + paths.latestVersion(this.#projectId);
    return this.#inSession({ operation: "latest", method: "GET", url }, async (request) => {
      const answer = await callIfChanged(request, etag, latestAnswer, this.#options);
      return answer.changed ? { ...answer, value: answer.value.version } : answer;
    });
  }

  /** @throws ArtifactError */
  async locate(version: string): Promise<ArtifactLocation> {
    const url = this.#base + paths.artifact(this.#projectId, version);
    return this.#withSession({ operation: "location", method: "GET", url }, locationAnswer);
  }

  /**
   * Releases the DEK: the hub refuses revoked keys and expired credentials here, before any decryption.
   *
   * @throws AuthenticationError on 401 and 403, ArtifactError otherwise
   */
  async authorize(deploymentCredential: string, signature: string): Promise<Buffer> {
    const request: HttpRequest = {
      operation: "authorize",
      method: "POST",
      url: this.#base + paths.authorize(),
      json: { deployment_credential: deploymentCredential, artifact_signature: signature },
      secretBody: true,
      secrets: [deploymentCredential],
    };
    return Buffer.from((await this.#withSession(request, authorizeAnswer)).dek, "base64");
  }

  /** The ciphertext as one stream. An address that expires on the way is asked for again. @throws ArtifactError through the stream */
  download(
    version: string,
    location: ArtifactLocation,
    options: Pick<DownloadOptions, "maxBytes" | "onReceived" | "onResumed">,
  ): Readable {
    return download({
      ...this.#options,
      ...options,
      url: location.download_url,
      renew: async () => (await this.locate(version)).download_url,
    });
  }

  /** @throws DeploymentError */
  async report(report: ProjectReport): Promise<void> {
    const url = this.#base + paths.reportProject();
    await this.#withSession({ operation: "report", method: "POST", url, json: report }, projectReportAnswer);
  }
}
