import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { extract } from "tar-stream";
import { open } from "yauzl-promise";
import type { Listing } from "./listing.ts";

const hashed = async (content: AsyncIterable<Uint8Array>): Promise<string> => {
  const hash = createHash("sha256");
  for await (const chunk of content) hash.update(chunk);
  return hash.digest("hex");
};

/** Returns a path relative to the folder that an archive is unpacked into. */
const pathOf = (name: string): string => name.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");

/** Adds an entry as a program would unpack it: the last one of a name counts. */
function add(listing: Listing, path: string, content: string | null): void {
  if (path !== "" && path !== ".") listing[path] = content;
}

async function readTar(file: string): Promise<Listing> {
  const listing: Listing = {};
  const reader = extract();
  reader.end(readFileSync(file));
  for await (const entry of reader) {
    const { name, type } = entry.header;
    const isFile = type === "file" || type === "contiguous-file";
    const content = await hashed(entry as AsyncIterable<Uint8Array>);
    add(listing, pathOf(name), isFile ? content : type === "directory" ? null : "special");
  }
  return listing;
}

async function readZip(file: string): Promise<Listing> {
  const listing: Listing = {};
  const zip = await open(file);
  try {
    for await (const entry of zip) {
      const isFolder = entry.filename.endsWith("/");
      add(listing, pathOf(entry.filename), isFolder ? null : await hashed(await entry.openReadStream()));
    }
  } finally {
    await zip.close();
  }
  return listing;
}

const READERS = {
  tar: { name: "tar-stream", read: readTar },
  zip: { name: "yauzl-promise", read: readZip },
} as const;

/** Reads an archive with another library. @returns undefined when that refuses it */
export async function libraryListing(
  kind: "tar" | "zip",
  file: string,
): Promise<{ name: string; listing: Listing } | undefined> {
  const { name, read } = READERS[kind];
  try {
    return { name, listing: await read(file) };
  } catch {
    return undefined;
  }
}
