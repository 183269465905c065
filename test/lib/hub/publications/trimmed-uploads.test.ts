// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** The limit of an owner is applied while a request goes on with the eldest upload, which is kept no more. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { utimes } from "node:fs/promises";
import t from "tap";
import { DiskBlobs } from "../../../../lib/hub/blobs/disk.ts";
import { type ArrivingFile, KeptUploads } from "../../../../lib/hub/publications/kept-uploads.ts";
import { newUploadId } from "../../../support/hub/resumed.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("a file that a request goes on with is not removed by the limit", async (t) => {
  const blobs = new DiskBlobs(temporaryFolder(t));
  await blobs.prepare();
  const uploads = new KeptUploads(blobs, 1024 * 1024);
  const request = { owner: "anna", targetId: "prj_1", uploads, mayKeep: () => Promise.resolve(), giveWay: () => {} };
  const bytes = Buffer.alloc(1000, 7);
  const bring = async (id: string): Promise<ArrivingFile> => {
    const arriving = await uploads.begin(request, { upload_id: id });
    arriving.hash.update(bytes);
    await arriving.blob.write(bytes);
    return arriving;
  };
  const eldest = newUploadId();
  for (let index = 0; index < 8; index++) {
    await using arriving = await bring(index === 0 ? eldest : newUploadId());
    await arriving.keep!();
    if (index > 0) continue;
    const [{ path } = { path: "" }] = await blobs.kept("");
    await utimes(path, new Date(0), new Date(0));
  }
  // The look at what the owner has kept takes a while, in which the next request of the eldest comes.
  const kept = blobs.kept.bind(blobs);
  let goesOn: ArrivingFile | undefined;
  await using ninth = await bring(newUploadId());
  blobs.kept = async (prefix) => {
    blobs.kept = kept;
    const found = await kept(prefix);
    const sha = createHash("sha256").update(bytes).digest("hex");
    goesOn = await uploads.begin(request, { upload_id: eldest, upload_offset: 1000, upload_sha256: sha });
    return found;
  };
  await ninth.keep!();
  t.equal(goesOn!.blob.size, 1000);
  t.ok(existsSync(goesOn!.blob.path), "its file is still there");
  await goesOn![Symbol.asyncDispose]();
});

t.test("an old upload that somebody goes on with grows for other hubs, too", async (t) => {
  const folder = temporaryFolder(t);
  const [blobs, others] = [new DiskBlobs(folder), new DiskBlobs(folder)];
  await blobs.prepare();
  const blob = await blobs.create("ab");
  await blob.write(Buffer.alloc(1000, 7));
  const path = await blob.keep();
  await utimes(path, new Date(0), new Date(0));
  t.match(await others.kept("ab"), [{ grows: false, bytes: 1000 }]);
  await using again = await blobs.reopen(path);
  t.equal(again?.size, 1000);
  t.match(await others.kept("ab"), [{ grows: true, bytes: 1000 }]);
});
