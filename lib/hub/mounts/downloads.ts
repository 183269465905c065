import * as routes from "../../contract/downloads/routes.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import { type Served, serveRaw } from "../access/serve.ts";
import { HubError, notFound } from "../base/errors.ts";
import type { Blobs } from "../blobs/port.ts";
import { blobBytes, sendBytes } from "../http/ranges.ts";
import type { Records } from "../records/port.ts";
import { findShownBytes } from "../records/visible-targets.ts";

/** Route behind `download_url` and `X-Sealift-Download`, authorized by the URL alone. */
export function downloads({
  hub,
  authentication,
}: MountOptions<Records & { blobs: Blobs; downloadUrls: DownloadUrls }>): readonly Served[] {
  return [
    serveRaw(routes.download, async (request, reply) => {
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
    }),
  ];
}
