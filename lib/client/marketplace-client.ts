import { Readable } from "node:stream";
import * as z from "zod";
import { MAX_PLAINTEXT_BYTES } from "../artifact/limits.ts";
import { SealiftError } from "../contract/errors.ts";
import { shownVersion } from "../contract/facts/version.ts";
import { later } from "../contract/later.ts";
import * as routes from "../contract/marketplace/routes.ts";
import { reportTarget } from "../contract/reports/routes.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import { latestFacts } from "../contract/surfaces/latest-facts.ts";
import {
  ARCHIVE_PART,
  type targetSummary,
  type VersionFields,
  versionRecord,
} from "../contract/surfaces/marketplace.ts";
import { baseUrl, type MarketplaceKind } from "../contract/surfaces/paths.ts";
import type { DeploymentReport } from "../contract/surfaces/reports.ts";
import type { RootMark } from "../contract/trust/marks.ts";
import { readJson, refuseWebPage, statusError } from "./answers.ts";
import { ask, type Asking, askPages, requestOf } from "./ask.ts";
import { download, type DownloadOptions, DOWNLOADS, type MirrorUse } from "./download.ts";
import { formBody, wholeFile } from "./file-form.ts";
import { header, type HttpRequest, type HttpResponse, operationError, send } from "./http.ts";
import { hostHeaders, type HubConnection } from "./hub-connection.ts";
import { type InstallHeaders, parseSignature } from "./install-headers.ts";
import { call, callIfChanged, type Conditional } from "./json-request.ts";
import type { KeptBytes } from "./kept-bytes.ts";
import { stepPart, type UploadStep } from "./resumed-upload.ts";
import { withRetries } from "./retry.ts";

/**
 * Part of a detail record that a client needs. Only `latest_version` is in the contract
 * (docs/contract/marketplace.md#detail): other fields are ignored unless they have Sealift's form.
 */
const detailAnswer = later(() =>
  z.looseObject({
    latest_version: z.string().nullish(),
    id: z.string().optional().catch(undefined),
    name: z.string().optional().catch(undefined),
    next: latestFacts.next.catch(undefined),
    withdrawn: latestFacts.withdrawn.catch(undefined),
    root_version: latestFacts.root_version.catch(undefined),
    versions: z.array(shownVersion).optional().catch(undefined),
  }),
);
export type Detail = z.output<typeof detailAnswer>;

/**
 * Returns the hub's 404 with what a publication needs: the other kind, where the slug is one of it, or a first
 * creation. Any other error stays as it is.
 */
export async function unknownTarget(
  error: unknown,
  { kind: wanted, slug }: { kind: MarketplaceKind; slug: string },
  hub: HubConnection,
): Promise<unknown> {
  if (!(error instanceof SealiftError) || error.status !== 404) return error;
  const other = wanted === "plugin" ? "service" : "plugin";
  const isOther = await new MarketplaceClient(other, slug, hub).detailIfChanged(undefined).then(
    () => true,
    () => false,
  );
  const { kind, code, message, status, hubCode } = error;
  const hint = isOther
    ? `${slug} is a ${other} there: give --kind ${other}.`
    : `Create it once: sealift project create "${slug}" --kind ${wanted} --slug ${slug}`;
  return new SealiftError(kind, code, message, { status, hint, ...(hubCode !== undefined && { hubCode }) });
}

/** Bytes of a version's ZIP that outlive an interruption. */
export interface KeptArchive {
  /** Tells whether an earlier run has kept any. */
  isThere(): Promise<boolean>;
  /** Returns them for the archive with this HMAC. @param size size of the archive in bytes, if the hub states it */
  of(hmac: string, size: number | undefined): KeptBytes;
}

/** Surface A for one plugin or service. */
export class MarketplaceClient {
  readonly #options: HubConnection;
  readonly #kind: MarketplaceKind;
  readonly #slug: string;
  readonly #base: string;

  constructor(kind: MarketplaceKind, slug: string, options: HubConnection) {
    this.#options = options;
    this.#kind = kind;
    this.#slug = slug;
    this.#base = baseUrl(options.hubUrl);
  }

  /** Returns the detail record. @param running version that this host runs, null for none @throws ArtifactError */
  detail(running?: string | null): Promise<Detail> {
    return call(this.#detailRequest(running), detailAnswer, this.#options);
  }

  /**
   * Returns the detail record, unless its ETag is `etag`; asked once, without retries.
   *
   * @param running version that this host runs, null for none
   * @param root version of the trust root that it follows; undefined for none
   * @throws ArtifactError
   */
  detailIfChanged(etag: string | undefined, running?: string | null, root?: RootMark): Promise<Conditional<Detail>> {
    return callIfChanged(this.#detailRequest(running, root), etag, detailAnswer, this.#options);
  }

  #detailRequest(running: string | null | undefined, root?: RootMark): HttpRequest {
    const request = requestOf(routes.showTarget[this.#kind], { params: { slug: this.#slug } }, this.#asking("detail"));
    return { ...request, headers: hostHeaders(this.#options, running, root) };
  }

  /**
   * Fetches the ZIP: `consume` gets its headers and its bytes, which go on across lost connections.
   *
   * @param mirrors tried first for the bytes; the headers come from the hub, and no mirror gets the key
   * @param kept bytes that outlive an interruption; only what is missing of them is fetched
   * @param onResumed called when a download is resumed after a lost connection
   * @throws ArtifactError; `signature_missing` and `signature_invalid` for a malformed X-Signature
   */
  async install<T>(
    version: string,
    consume: (headers: InstallHeaders, body: Readable) => Promise<T>,
    mirrors?: MirrorUse,
    kept?: KeptArchive,
    onResumed?: DownloadOptions["onResumed"],
  ): Promise<T> {
    const { mirrors: _urls, ...transport } = this.#options;
    const request = this.#installRequest(version);
    const ask = (headers: Record<string, string>): HttpRequest => ({ ...request, headers });
    const resumption = onResumed === undefined ? {} : { onResumed };
    const hub = { ...transport, ...resumption, maxBytes: MAX_PLAINTEXT_BYTES, url: request.url, ask };
    const isMirrored = mirrors !== undefined && mirrors.urls.length > 0;
    if (isMirrored || (await kept?.isThere()) === true) {
      const { headers, url } = await this.#shown(version);
      const bytes = { expectedBytes: headers.size, kept: kept?.of(headers.hmac, headers.size) };
      if (isMirrored && url !== undefined) {
        const renew = async (): Promise<string> => (await this.#shown(version)).url ?? url;
        const { maxBytes } = hub;
        return consume(
          headers,
          readable(download({ ...transport, ...resumption, ...bytes, maxBytes, url, renew, mirrors })),
        );
      }
      if (!isMirrored) return consume(headers, readable(download({ ...hub, ...bytes })));
    }
    const first = await withRetries(request, this.#options, async () => {
      const response = await send(request, this.#options);
      if (response.status !== 200) throw await statusError(response, request);
      return response;
    });
    try {
      const headers = this.#installHeaders(first, request, header(first, "content-length"));
      const bytes = { first, kept: kept?.of(headers.hmac, headers.size) };
      return await consume(headers, readable(download({ ...hub, ...bytes })));
    } finally {
      first.body.on("error", () => {});
      first.body.destroy();
    }
  }

  #installRequest(version: string): HttpRequest {
    const question = { params: { slug: this.#slug }, query: { version } };
    return requestOf(routes.installTarget[this.#kind], question, this.#asking("install"));
  }

  #installHeaders(response: HttpResponse, request: HttpRequest, length: string | undefined): InstallHeaders {
    if (header(response, HEADERS.signature) === undefined) refuseWebPage(response, request);
    return {
      hmac: parseSignature(header(response, HEADERS.signature)),
      author: { signature: header(response, HEADERS.signatureEd25519), signer: header(response, HEADERS.signer) },
      named: header(response, this.#kind === "plugin" ? HEADERS.plugin : HEADERS.service),
      repo: header(response, HEADERS.repo),
      size: length === undefined ? undefined : Number(length),
    };
  }

  /** Requests the headers of a ZIP, which the hub gives only to callers that may have it. @throws ArtifactError */
  async installHeaders(version: string): Promise<InstallHeaders> {
    return (await this.#shown(version)).headers;
  }

  /** Requests one byte of a ZIP, for its headers and the URL that needs no key, if the hub gives one. */
  #shown(version: string): Promise<{ headers: InstallHeaders; url: string | undefined }> {
    const request = { ...this.#installRequest(version), headers: { range: "bytes=0-0" } };
    return withRetries(request, this.#options, async () => {
      const response = await send(request, this.#options);
      if (response.status !== 200 && response.status !== 206) throw await statusError(response, request);
      // Reading the one byte to its end keeps the connection for the next request.
      if (response.status === 206) response.body.on("error", () => {}).resume();
      else response.discard();
      const total = /\/(\d+)$/.exec(header(response, "content-range") ?? "")?.[1];
      const path = header(response, HEADERS.download);
      const isOurs = response.status === 206 && path?.startsWith(DOWNLOADS) === true;
      return { headers: this.#installHeaders(response, request, total), url: isOurs ? this.#base + path : undefined };
    });
  }

  /** Sends a deployment report. @param root version of the trust root that the host follows @throws ArtifactError */
  async report(report: DeploymentReport, root?: RootMark): Promise<void> {
    const asked = requestOf(reportTarget, { body: report }, this.#asking("deploymentReport"));
    const request = { ...asked, headers: hostHeaders(this.#options, undefined, root) };
    const response = await send(request, this.#options);
    if (response.status < 200 || response.status > 299) throw await statusError(response, request);
    response.body.on("error", () => {}).resume();
  }

  /**
   * Publishes a ZIP that the developer has signed.
   *
   * @param options `step` is the request of an upload that may take several; `onSent` gets the bytes of the file sent
   * @throws AuthenticationError, PublishError
   */
  async publish(
    fields: VersionFields,
    file: string,
    { step = { fields: {} }, onSent }: { step?: UploadStep; onSent?: (bytes: number) => void } = {},
  ): Promise<{ release: z.output<typeof versionRecord>; unchanged: boolean }> {
    const part = { ...ARCHIVE_PART, filename: `${this.#slug}.zip` };
    const form = async () =>
      formBody({ fields: { ...fields, ...step.fields }, ...stepPart(part, await wholeFile(file), step), onSent });
    const request: HttpRequest = {
      ...requestOf(routes.publishTargetVersion[this.#kind], { params: { slug: this.#slug } }, this.#asking()),
      form,
    };
    try {
      const response = await send(request, this.#options);
      const release = await readJson(response, request, z.looseObject(versionRecord.shape));
      return { release, unchanged: response.status === 200 };
    } catch (error) {
      throw await unknownTarget(error, { kind: this.#kind, slug: this.#slug }, this.#options);
    }
  }

  /** Returns how many bytes of an upload the hub has kept. @throws `publish_refused` for none */
  async keptBytes(upload: string): Promise<number> {
    const params = { slug: this.#slug, upload };
    return (await ask(routes.showTargetUpload[this.#kind], { params }, this.#asking())).upload_offset;
  }

  #asking(operation: Asking["operation"] = "marketplace"): Asking {
    return { operation, hub: this.#options };
  }
}

/**
 * Lists the targets whose name, slug or description contains a text, page by page. @throws AuthenticationError,
 * PublishError
 */
export const searchTargets = (
  kind: MarketplaceKind,
  text: string,
  hub: HubConnection,
): AsyncGenerator<z.output<typeof targetSummary>> =>
  askPages(routes.listTargets[kind], { query: { q: text } }, { operation: "marketplace", hub });

const readable = (bytes: AsyncIterable<Buffer>): Readable => Readable.from(bytes, { objectMode: false });

/** Returns an error of the install operation with one of Sealift's own codes. */
export const installError = (code: Parameters<typeof operationError>[1], why: string) =>
  operationError("install", code, why);
