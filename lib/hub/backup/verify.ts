import { createHash } from "node:crypto";
import { countBuffered } from "../buffer-collection.ts";
import { blobRecords, type BlobVersion, knownBlobs, versionOfBlob } from "../records/blobs.ts";
import { type HubStorage, openHubStorage } from "../storage.ts";

/** A fault of a stored artifact, with the version that has to be published again. */
export interface Finding extends BlobVersion {
  id: string;
  fault: "missing" | "wrong_size" | "wrong_bytes";
}

export interface VerifyResult {
  checked: number;
  /** Bytes that were read. */
  bytes: number;
  findings: number;
  /** Blobs without a record: what a crash left, until the hub moves it to the trash. */
  unrecorded: number;
}

/**
 * Checks every record of a hub against its blob, beside the running hub.
 *
 * @param quick compares sizes only, without reading the bytes
 */
export async function verifyHub(
  storage: HubStorage,
  { quick, onFinding }: { quick: boolean; onFinding: (finding: Finding) => void },
): Promise<VerifyResult> {
  await using opened = await openHubStorage(storage);
  const { database, blobs } = opened;
  const result: VerifyResult = { checked: 0, bytes: 0, findings: 0, unrecorded: 0 };
  const found = async (id: string, fault: Finding["fault"]): Promise<void> => {
    const version = await versionOfBlob(database.kysely, id);
    // A version that somebody has deleted meanwhile.
    if (version === undefined) return;
    result.findings++;
    onFinding({ id, fault, ...version });
  };
  for await (const { id, size_bytes: expected, sha256 } of blobRecords(database.kysely)) {
    result.checked++;
    const size = await blobs.size(id);
    if (size === undefined) await found(id, "missing");
    else if (size !== Number(expected)) await found(id, "wrong_size");
    else if (!quick && size > 0) {
      const hash = createHash("sha256");
      for await (const chunk of (await blobs.read(id)) as AsyncIterable<Buffer>) {
        hash.update(chunk);
        result.bytes += chunk.length;
        countBuffered(chunk.length);
      }
      if (hash.digest("hex") !== sha256) await found(id, "wrong_bytes");
    }
  }
  let batch: string[] = [];
  const countUnrecorded = async (): Promise<void> => {
    if (batch.length > 0) result.unrecorded += batch.length - (await knownBlobs(database.kysely, batch)).size;
    batch = [];
  };
  for await (const { id } of blobs.list()) if (batch.push(id) === 500) await countUnrecorded();
  await countUnrecorded();
  return result;
}
