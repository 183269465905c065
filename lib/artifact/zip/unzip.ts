import { createHash, hash } from "node:crypto";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import type { ArtifactThread, Job } from "../thread/artifact-thread.ts";
import { FileTable, type SentFiles, type Written } from "../tree/file-table.ts";
import { NewFile, writeNewFile } from "../tree/new-file.ts";
import { type ScanOptions, scanZip, type ZipIndex } from "./directory.ts";
import { FileWindow } from "./file-window.ts";
import type { ZipMember } from "./member-table.ts";
import type { MemberStreams } from "./second-reader.ts";
import { isSmall, largeContent, smallContent } from "./unzip-member.ts";

/** Bytes of the archive read at a time. */
const WINDOW_BYTES = 256 * 1024;
/** Bytes that an inflater holds besides its output. */
const INFLATER_BYTES = 4096;
/** Bytes of files between two progress reports. */
const TELL_BYTES = 1024 * 1024;

export interface UnzipOptions extends ScanOptions {
  /** Called when every check of the archive as a whole has passed, before the first byte is unpacked. */
  onScanned?: (index: ZipIndex) => void;
  /** Called now and then with the bytes of files written so far. */
  onUnpacked?: (bytes: number) => void;
}

export interface Unzipped {
  /** Unpacked files, under their present paths. */
  files: FileTable;
  bytes: number;
}

/**
 * Checks an archive as a whole (`scanZip`) and unpacks it into an empty, private folder, flattening a single top
 * folder. Checks sizes and CRCs of the output. A plain loop that blocks its thread except for large files.
 *
 * @throws ArtifactError as `scanZip`, and `zip_invalid` for bytes that contradict the directory
 */
export async function unzip(path: string, folder: string, options: UnzipOptions): Promise<Unzipped> {
  const { onScanned, onUnpacked } = options;
  const scanned = await scanZip(path, options);
  onScanned?.(scanned);
  const { files: members, folders, topFolder, bytes } = scanned;
  const strip = topFolder === undefined ? 0 : topFolder.length + 1;
  for (const name of folders) if (name.length > strip) mkdirSync(`${folder}/${name.slice(strip)}`, { mode: 0o755 });

  const files = members.filesWithin(topFolder);
  const pace = paceBuffers("inflated");
  const descriptor = openSync(path, "r");
  try {
    const archive = new FileWindow(descriptor, WINDOW_BYTES);
    let streams: MemberStreams | undefined;
    let written = 0;
    let told = 0;
    for (let index = 0; index < members.length; index++) {
      const member = members.at(index);
      const target = `${folder}/${files.pathAt(index)}`;
      if (isSmall(member)) {
        files.wrote(index, unpackSmall(archive, target, member));
        // Stored bytes stay in the window.
        if (member.method !== 0) pace(member.uncompressedSize + INFLATER_BYTES);
      } else {
        // Most archives hold no large member.
        streams ??= new (await import("./second-reader.ts")).MemberStreams(descriptor);
        files.wrote(index, await unpackLarge(streams, target, member));
      }
      written += member.uncompressedSize;
      if (written - told < TELL_BYTES) continue;
      told = written;
      onUnpacked?.(written);
    }
  } finally {
    closeSync(descriptor);
  }
  onUnpacked?.(bytes);
  return { files, bytes };
}

function unpackSmall(archive: FileWindow, path: string, member: ZipMember): Written {
  const content = smallContent(archive, member);
  const mtimeMs = writeNewFile(path, content, member.executable);
  return { sha256: hash("sha256", content, "buffer"), mtimeMs };
}

async function unpackLarge(streams: MemberStreams, path: string, member: ZipMember): Promise<Written> {
  const digest = createHash("sha256");
  using file = new NewFile(path, member.executable);
  await largeContent(streams, member, (chunk) => {
    digest.update(chunk);
    file.write(chunk);
  });
  return { sha256: digest.digest() };
}

interface UnzipJob extends Job {
  loop: "unzip";
  path: string;
  folder: string;
  options: ScanOptions;
}

type Scanned = Pick<ZipIndex, "skippedLinks">;

interface UnzipAnswer {
  files: SentFiles;
  bytes: number;
}

/** Runs the job of {@link unzipOn}. */
export async function unzipJob(
  { path, folder, options }: UnzipJob,
  tell: (told: Scanned | number) => void,
): Promise<UnzipAnswer> {
  const onScanned = ({ skippedLinks }: ZipIndex): void => tell({ skippedLinks });
  const { files, bytes } = await unzip(path, folder, { ...options, onScanned, onUnpacked: tell });
  return { files: files.sent(), bytes };
}

export interface UnzipOnOptions extends Omit<UnzipOptions, "onScanned"> {
  onScanned?: (scanned: Scanned) => void;
  signal?: AbortSignal;
}

/**
 * Unpacks an archive like {@link unzip}, on another thread. After an error, dispose of that thread before removing the
 * folder.
 *
 * @throws as {@link unzip}, and the reason of an abort
 */
export async function unzipOn(
  thread: ArtifactThread,
  path: string,
  folder: string,
  { limits, symlinks, signal, onScanned, onUnpacked }: UnzipOnOptions,
): Promise<Unzipped> {
  const job: UnzipJob = { loop: "unzip", path, folder, options: { limits, symlinks } };
  const onTold = (told: Scanned | number): void => {
    if (typeof told === "number") onUnpacked?.(told);
    else onScanned?.(told);
  };
  const { files, bytes } = await thread.ask<UnzipAnswer, Scanned | number>(job, { onTold, signal });
  return { files: FileTable.received(files), bytes };
}
