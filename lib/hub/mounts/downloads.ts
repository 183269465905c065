import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import type { MountOptions } from "../access/authentication.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import type { Blobs } from "../blobs/port.ts";
import { notFound } from "../ground/errors.ts";
import { bytes, errors, notModified } from "../http/documentation.ts";
import { PATIENCE_OF_BEGUN_MS } from "../http/load-shedding.ts";
import { blobBytes, sendBytes } from "../http/ranges.ts";
import { findArtifactBytes } from "../records/artifacts.ts";
import type { Records } from "../records/port.ts";

/** The bytes behind `download_url`: authorised by the URL alone. */
export const downloads: FastifyPluginAsyncZod<
  MountOptions<Records & { blobs: Blobs; downloadUrls: DownloadUrls }>
> = async (app, { hub, authentication }) => {
  app.route({
    method: ["GET", "HEAD"],
    url: "/v1/downloads/:id",
    config: { patienceMs: PATIENCE_OF_BEGUN_MS },
    schema: {
      tags: ["deploy hub"],
      summary: "The artifact's bytes; the URL comes from the artifact's location and expires",
      params: z.object({ id: z.string() }),
      querystring: z.object({ expires: z.string().max(16).default(""), signature: z.string().max(128).default("") }),
      response: {
        200: bytes("The whole artifact."),
        206: bytes("The range asked for."),
        304: notModified,
        ...errors(403, 404, 416),
      },
    },
    async handler(request, reply) {
      const { id } = request.params;
      hub.downloadUrls.check(id, request.query, hub.clock());
      authentication.accepted(request);
      const artifact = await findArtifactBytes(hub.database.statements, id);
      if (artifact === undefined) throw notFound("There is no such artifact.");
      const { size_bytes: size, artifact_sha256: sha256 } = artifact;
      return sendBytes(request, reply, blobBytes(hub.blobs, { id, size, sha256 }), {
        "content-type": "application/octet-stream",
      });
    },
  });
};
