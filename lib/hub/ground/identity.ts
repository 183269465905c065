/** Ids of records, under which their blobs are stored. Whatever else lies in a storage is not the hub's. */
export const BLOB_ID = /^[a-z]{3}_[0-9a-f]{32}$/;

export const isBlobId = (name: string): boolean => BLOB_ID.test(name);

/**
 * Checks an id before it becomes a part of a path or of an object's key. Ids come from a database or a backup, which
 * somebody else may have written.
 *
 * @throws Error with the code ENOENT, for there is no such blob
 */
export function blobName(id: string): string {
  if (isBlobId(id)) return id;
  throw Object.assign(new Error(`${JSON.stringify(id.slice(0, 100))} is not the id of a blob.`), { code: "ENOENT" });
}
