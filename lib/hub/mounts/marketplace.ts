import * as routes from "../../contract/marketplace/routes.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import { serve, type Served, serveRaw } from "../access/serve.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import { targetAccess } from "../access/target-access.ts";
import { notFound, noVersion } from "../base/errors.ts";
import type { Blobs } from "../blobs/port.ts";
import { pageOf } from "../http/documentation.ts";
import { blobBytes, sendBytes, textBytes } from "../http/ranges.ts";
import type { PageRange } from "../records/port.ts";
import { listVersionRecords } from "../records/targets.ts";
import { countVisibleTargets, type ListedTarget, listVisibleTargets } from "../records/visible-targets.ts";

/** Headers on which an answer to `latest` depends. */
const VARY_LATEST = [HEADERS.apiKey, HEADERS.host, HEADERS.labels, HEADERS.running].join(", ");

/** Returns the version that a query names; undefined for the latest one. */
const versionOf = (asked: string): string | undefined => (asked === "latest" || asked === "" ? undefined : asked);

/** Routes that read the marketplace, for one kind: detail, install, search, versions. */
export function marketplace(
  options: MountOptions<TargetAccessParts & { blobs: Blobs; downloadUrls: DownloadUrls }>,
  kind: MarketplaceKind,
): readonly Served[] {
  const { hub } = options;
  const { statements, kysely: db } = hub.database;
  const access = targetAccess(kind, options);
  const nameHeader = (kind === "plugin" ? HEADERS.plugin : HEADERS.service).toLowerCase();

  return [
    // Polled like surface B's latest: key, visibility, grants and record are one statement.
    serveRaw(routes.showTarget[kind], access.detail, async (request, reply, { detail, etag }) =>
      sendBytes(request, reply, textBytes(detail, etag), {
        "content-type": "application/json; charset=utf-8",
        "cache-control": "private, no-cache",
        vary: VARY_LATEST,
      }),
    ),

    serveRaw(
      routes.installTarget[kind],
      (request, scopes) => access.version(request, scopes, versionOf(request.query.version)),
      async (request, reply, { principal, target, version: found }) => {
        const { slug } = request.params;
        const isLatest = versionOf(request.query.version) === undefined;
        if (found === undefined) throw isLatest ? noVersion(target) : notFound(`The ${kind} has no such version.`);
        const { id, sizeBytes: size, sha256 } = found;
        return sendBytes(request, reply, blobBytes(hub.blobs, { id, size, sha256 }), {
          "content-type": "application/zip",
          "cache-control": "private, no-cache",
          vary: isLatest ? VARY_LATEST : HEADERS.apiKey,
          ...(principal && {
            [HEADERS.download.toLowerCase()]: hub.downloadUrls.create(id, principal.keyId, hub.clock()),
          }),
          [HEADERS.signature.toLowerCase()]: found.signature,
          [nameHeader]: `${slug}@${found.version}`,
          ...(found.author !== null && {
            [HEADERS.signatureEd25519.toLowerCase()]: found.author.signature,
            [HEADERS.signer.toLowerCase()]: found.author.key,
          }),
          ...(found.repo !== null && { [HEADERS.repo.toLowerCase()]: found.repo }),
        });
      },
    ),

    serve(routes.listTargets[kind], async (request) => {
      const { q: text, sort: order, count } = request.query;
      const question = access.question(request, "");
      const listed = await pageOf(
        request.query,
        { by: "place", show: ({ summary }: ListedTarget) => summary },
        (range) => listVisibleTargets(statements, question, { text, order, ...range }),
      );
      return count === "false" ? listed : { ...listed, total: await countVisibleTargets(statements, question, text) };
    }),

    serve(routes.listTargetVersions[kind], access.seen, async (request, { id }) => {
      const read = (range: PageRange) => listVersionRecords(db, id, range);
      return pageOf(request.query, { by: "id", show: ({ record }) => record }, read);
    }),
  ];
}
