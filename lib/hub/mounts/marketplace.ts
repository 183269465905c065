import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { page, pageQuery } from "../../contract/paging.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { targetDetail, targetSummary, versionRecord as versionSchema } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import { noSuchTarget, targetAccess, targetParams } from "../access/target-access.ts";
import type { Blobs } from "../blobs/port.ts";
import { keyRejected, notFound, noVersion } from "../ground/errors.ts";
import { bytes, errors, notModified, pageOf, security } from "../http/documentation.ts";
import { PATIENCE_OF_BEGUN_MS } from "../http/load-shedding.ts";
import { blobBytes, sendBytes, textBytes } from "../http/ranges.ts";
import type { PageRange } from "../records/port.ts";
import { listVersionRecords } from "../records/targets.ts";
import { findVisibleTarget, listVisibleTargets } from "../records/visible-targets.ts";

/** The headers on which an answer to `latest` depends. */
const VARY_LATEST = [HEADERS.apiKey, HEADERS.host, HEADERS.labels, HEADERS.running].join(", ");

/** The marketplace's reading side for one kind: detail, install, search, versions. */
export const marketplace: FastifyPluginAsyncZod<
  MountOptions<TargetAccessParts & { blobs: Blobs; downloadUrls: DownloadUrls }> & { kind: MarketplaceKind }
> = async (app, options) => {
  const { hub, kind } = options;
  const { statements, kysely: db } = hub.database;
  const access = targetAccess(kind, options);
  const tags = [kind === "plugin" ? "plugins" : "services"];
  const nameHeader = (kind === "plugin" ? HEADERS.plugin : HEADERS.service).toLowerCase();

  app.route({
    method: ["GET", "HEAD"],
    url: "/:slug",
    schema: {
      tags,
      summary: `The detail record of a ${kind}`,
      description: "A key is needed to see private targets; without access they are as missing ones.",
      security: security.optionalKey,
      params: targetParams,
      response: { 200: targetDetail, 304: notModified, ...errors(401, 404, 416) },
    },
    // Polled like surface B's latest: key, visibility, grants and the record's text are one statement.
    async handler(request, reply) {
      const { detail, etag } = await access.detail(request, request.params.slug);
      return sendBytes(request, reply, textBytes(detail, etag), {
        "content-type": "application/json; charset=utf-8",
        "cache-control": "private, no-cache",
        vary: VARY_LATEST,
      });
    },
  });

  app.route({
    method: ["GET", "HEAD"],
    url: "/:slug/install",
    config: { patienceMs: PATIENCE_OF_BEGUN_MS },
    schema: {
      tags,
      summary: `The archive of a ${kind}, as it was published`,
      description:
        `X-Signature, ${HEADERS.plugin} or ${HEADERS.service} (name@version) and X-Repo come with it. ` +
        `${HEADERS.download} is where the same bytes are given without a key, for a while.`,
      security: security.key,
      params: targetParams,
      querystring: z.object({ version: z.string().max(128).default("latest") }),
      response: {
        200: bytes("The ZIP archive.", "application/zip"),
        206: bytes("The range asked for.", "application/zip"),
        304: notModified,
        ...errors(401, 403, 404, 416, 422),
      },
    },
    async handler(request, reply) {
      const { slug } = request.params;
      const { version: asked } = request.query;
      const isLatest = asked === "latest" || asked === "";
      const { principal, target, version: found } = await access.version(request, slug, isLatest ? undefined : asked);
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
        ...(found.repo !== null && { [HEADERS.repo.toLowerCase()]: found.repo }),
      });
    },
  });

  app.get("", {
    schema: {
      tags,
      summary: `List and search the ${kind}s that the caller may see, in slug order`,
      security: security.key,
      querystring: pageQuery.extend({
        q: z.string().max(200).default("").describe("Text in slug, name or description"),
      }),
      response: { 200: page(targetSummary), ...errors(401, 422) },
    },
    async handler(request) {
      const { q: text } = request.query;
      await options.authentication.key(request);
      const question = access.question(request, "");
      return pageOf(request.query, { by: "slug" }, (range) =>
        listVisibleTargets(statements, question, { text, ...range }),
      );
    },
  });

  app.get("/:slug/versions", {
    schema: {
      tags,
      summary: `The versions of a ${kind}, newest first`,
      security: security.key,
      params: targetParams,
      querystring: pageQuery,
      response: { 200: page(versionSchema), ...errors(401, 404, 422) },
    },
    async handler(request) {
      const { slug } = request.params;
      const { principal, target } = await findVisibleTarget(statements, access.question(request, slug));
      if (principal === undefined) throw options.authentication.rejected(request, keyRejected());
      options.authentication.accepted(request, principal);
      if (target === undefined) throw noSuchTarget(kind);
      const read = (range: PageRange) => listVersionRecords(db, target.id, range);
      return pageOf(request.query, { by: "id", show: ({ record }) => record }, read);
    },
  });
};
