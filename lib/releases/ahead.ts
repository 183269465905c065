import { constants, createWriteStream } from "node:fs";
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import * as z from "zod";
import { artifactError, deploymentError } from "../contract/errors.ts";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import { paced } from "../support/buffer-pacing.ts";
import { makeFolder, statsOf } from "../support/files.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";
import { removeTree } from "./open-folder.ts";

/** `ahead.json`: the last file written for an artifact fetched ahead, so that one without it is incomplete. */
const fetchedAhead = later(() =>
  z.object({
    v: z.literal(1),
    version: z.string(),
    /** Signature of the sealed bytes of the artifact or of a delta; the HMAC for an archive. */
    signature: z.string(),
    bytes: z.int().nonnegative(),
    at: z.string(),
  }),
);
/**
 * Artifact fetched to this host before it may be deployed. A project's is sealed as the signer made it: the hub
 * releases its key at the switch.
 */
export type FetchedAhead = z.infer<typeof fetchedAhead>;

/** Free bytes required per byte of an artifact: for itself and its tree. */
const SPACE_FACTOR = 3;

const recordFile = (layout: Layout, target: TargetName): string => join(layout.ahead(target), "ahead.json");
const sealedFile = (layout: Layout, target: TargetName): string => join(layout.ahead(target), "sealed");

/** Reads the record of the artifact fetched ahead for a target; none before it is complete. */
export const readAhead = (layout: Layout, target: TargetName): Promise<FetchedAhead | undefined> =>
  readJsonFile(recordFile(layout, target), fetchedAhead);

/** True when something was fetched ahead, or was begun. */
export const hasAhead = async (layout: Layout, target: TargetName): Promise<boolean> =>
  (await statsOf(layout.ahead(target))) !== undefined;

/**
 * Streams the sealed bytes, which others may have changed since they were verified.
 *
 * @throws ArtifactError `signature_invalid` for anything but a regular file: a device or pipe may have no end
 */
export async function* sealedAhead(layout: Layout, target: TargetName): AsyncGenerator<Buffer> {
  // Opened only when somebody reads: a missing file would end the process. Does not wait for the writer of a pipe.
  await using file = await open(sealedFile(layout, target), constants.O_RDONLY | constants.O_NONBLOCK);
  if (!(await file.stat()).isFile())
    throw artifactError("signature_invalid", "What was fetched ahead is not a regular file, and nobody has signed it.");
  yield* file.createReadStream({ highWaterMark: 256 * 1024, autoClose: false }) as AsyncIterable<Buffer>;
}

/** Removes what was fetched ahead for a target, complete or not. Its record goes first. */
export async function dropAhead(layout: Layout, target: TargetName): Promise<void> {
  await rm(recordFile(layout, target), { force: true });
  if (await hasAhead(layout, target)) await removeTree(layout.ahead(target));
}

/** Sealed bytes of a version, and their signature. */
interface SealedVersion {
  version: string;
  signature: string;
  check: {
    update(chunk: Uint8Array): void;
    /** Ends the bytes. @throws ArtifactError `signature_invalid` */
    verify(): void;
  };
  /** Size in bytes, if the hub states it. */
  size: number | undefined;
  body: AsyncIterable<Buffer>;
}

/**
 * Writes a sealed artifact to the disk in place of an earlier one, and verifies its signature meanwhile. Leaves nothing
 * incomplete behind, however it ends.
 *
 * @throws ArtifactError `signature_invalid`
 * @throws DeploymentError `disk_full` before the first byte when there would be no room to unpack it, or as soon as
 *   it is larger than that
 */
export async function writeAhead(
  layout: Layout,
  target: TargetName,
  { version, signature, check, size = 0, body }: SealedVersion,
  signal: AbortSignal,
): Promise<FetchedAhead> {
  await dropAhead(layout, target);
  const { bavail, bsize } = await statfs(layout.sealift);
  const requireRoom = (bytes: number): void => {
    if (bytes * SPACE_FACTOR <= bavail * bsize) return;
    throw deploymentError("disk_full", `The disk of ${layout.root} has no room to fetch ${version} ahead.`, {
      hint: "Free some space; it is fetched when it may be deployed.",
    });
  };
  requireRoom(size);
  await makeFolder(layout.ahead(target), 0o700);
  let bytes = 0;
  async function* verifying(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of paced(chunks)) {
      check.update(chunk);
      bytes += chunk.length;
      requireRoom(bytes);
      yield chunk;
    }
  }
  try {
    const file = createWriteStream(sealedFile(layout, target), { flags: "wx", mode: 0o600 });
    await pipeline(body, verifying, file, { signal });
    check.verify();
    const fetched: FetchedAhead = { v: 1, version, signature, bytes, at: new Date().toISOString() };
    await writeJsonFile(recordFile(layout, target), fetched);
    return fetched;
  } catch (error) {
    await dropAhead(layout, target);
    throw error;
  }
}
