import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { bytes, notModified } from "../../contract/route.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import type { Blobs } from "../blobs/port.ts";
import { HubError, notFound } from "../ground/errors.ts";
import { errors } from "../http/documentation.ts";
import { PATIENCE_OF_BEGUN_MS } from "../http/load-shedding.ts";
import { blobBytes, sendBytes } from "../http/ranges.ts";
import type { Records } from "../records/port.ts";
import { findShownBytes } from "../records/visible-targets.ts";

/** The bytes behind `download_url` and `X-Sealift-Download`: authorised by the URL alone. */
export const downloads: FastifyPluginAsyncZod<
  MountOptions<Records & { blobs: Blobs; downloadUrls: DownloadUrls }>
> = async (app, { hub, authentication }) => {
  app.route({
    method: ["GET", "HEAD"],
    url: "/v1/downloads/:id",
    config: { patienceMs: PATIENCE_OF_BEGUN_MS },
    schema: {
      tags: ["deploy hub"],
      summary: "The bytes of a URL that the hub has given; it expires, and ends with the key that it was given to",
      params: z.object({ id: z.string() }),
      querystring: z.object({
        expires: z.string().max(16).default(""),
        key: z.string().max(64).default(""),
        signature: z.string().max(128).default(""),
      }),
      response: {
        200: bytes("The whole artifact."),
        206: bytes("The range asked for."),
        304: notModified,
        ...errors(403, 404, 416),
      },
    },
    async handler(request, reply) {
      const { id } = request.params;
      const { key } = request.query;
      hub.downloadUrls.check(id, request.query, hub.clock());
      authentication.accepted(request);
      const found = await findShownBytes(hub.database.statements, { id, keyId: key, now: hub.now() });
      if (found === undefined)
        throw new HubError(403, "forbidden", "The key that the download URL was given to is revoked or has expired.");
      if (found.size === null) throw notFound("There is no such artifact, or none that the key may see.");
      const { size, sha256 } = found;
      return sendBytes(request, reply, blobBytes(hub.blobs, { id, size, sha256 }), {
        "content-type": "application/octet-stream",
      });
    },
  });
};
