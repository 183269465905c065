// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** The file of a kept upload goes between the look for it and its opening: by a sweep, another hub, or a limit. */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import t from "tap";
import { DiskBlobs } from "../../../../lib/hub/blobs/disk.ts";
import { KeptUploads } from "../../../../lib/hub/publications/kept-uploads.ts";
import { newUploadId } from "../../../support/hub/resumed.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("a file that has gone is not continued as an empty one", async (t) => {
  const blobs = new DiskBlobs(temporaryFolder(t));
  await blobs.prepare();
  const uploads = new KeptUploads(blobs, 1024 * 1024);
  const request = { owner: "anna", targetId: "prj_1", uploads, mayKeep: () => Promise.resolve(), giveWay: () => {} };
  const id = newUploadId();
  const bytes = Buffer.alloc(1000, 7);
  {
    await using arriving = await uploads.begin(request, { upload_id: id });
    arriving.hash.update(bytes);
    await arriving.blob.write(bytes);
    await arriving.keep!();
  }
  const kept = blobs.kept.bind(blobs);
  blobs.kept = async (prefix) => {
    const found = await kept(prefix);
    for (const { path } of found) await rm(path);
    return found;
  };
  const sha = createHash("sha256").update(bytes).digest("hex");
  const again = await uploads
    .begin(request, { upload_id: id, upload_offset: 1000, upload_sha256: sha })
    .catch(() => undefined);
  t.ok(again === undefined || again.blob.size === 1000, `it has ${again?.blob.size} bytes, its digest is of 1000`);
  await again?.[Symbol.asyncDispose]();
});
