/** OCI images from scratch: the single executable, and the libraries that it needs. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import packageJson from "../../package.json" with { type: "json" };
import { type Libraries, librariesOf } from "./libraries.ts";
import { PLATFORMS, type Processor } from "./platforms.ts";

const LICENCES = "Apache-2.0 AND MIT AND LGPL-2.1-or-later AND GPL-3.0-or-later WITH GCC-exception-3.1";
const PROGRAM = "usr/bin/sealift";
const DATA = "/var/lib/sealift";
/** User id that is too high for a user of the host. */
const USER = 10_001;
const OCI = "application/vnd.oci.image";
const INDEX_TYPE = `${OCI}.index.v1+json`;

export interface Entry {
  content?: string | Buffer;
  link?: string;
  mode?: number;
  owner?: number;
}

/** Entry of an index or manifest about a blob. */
interface Descriptor {
  mediaType: string;
  digest: string;
  /** Bytes. */
  size: number;
}

/** Image of one processor. */
export interface Image {
  descriptor: Descriptor & { platform: { architecture: string; os: string } };
  /** Entry for `docker load`, which in its own store knows no index of OCI. */
  forDocker: { Config: string; RepoTags: string[]; Layers: string[] };
  blobs: Record<string, Entry>;
}

export interface ImageOptions {
  /** The single executable. */
  program: string;
  processor: Processor;
  /** Folder of Debian packages that the libraries are taken from; undefined for those of this machine. */
  debs: string | undefined;
  /** Time of all that is in it, in seconds. */
  epoch: number;
  isCompressed: boolean;
}

/** Writes a tar; folders end with a slash. */
export function tar(entries: Readonly<Record<string, Entry>>, epoch: number): Promise<Buffer> {
  const archive = pack();
  for (const [path, { content = "", link, mode, owner = 0 }] of Object.entries(entries)) {
    const shared = { name: path, mtime: new Date(epoch * 1000), uid: owner, gid: owner };
    if (link !== undefined) archive.entry({ ...shared, type: "symlink", linkname: link, mode: 0o777 });
    else if (path.endsWith("/")) archive.entry({ ...shared, type: "directory", mode: mode ?? 0o755 });
    else archive.entry({ ...shared, mode: mode ?? 0o644 }, content);
  }
  archive.finalize();
  return buffer(archive);
}

/** Returns the files of an image, each folder before its contents. */
function files(program: string, { packages, files: libraries }: Libraries): Record<string, Entry> {
  const entries: Record<string, Entry> = {
    [PROGRAM]: { content: readFileSync(program), mode: 0o755 },
    "etc/passwd": { content: `root:x:0:0::/:\nsealift:x:${USER}:${USER}::${DATA}:\n` },
    "etc/group": { content: `root:x:0:\nsealift:x:${USER}:\n` },
    "tmp/": { mode: 0o1777 },
    // Empty: without the folder OpenSSL complains on the output of each program that asks a hub.
    "etc/ssl/certs/": {},
    [`${DATA.slice(1)}/`]: { mode: 0o700, owner: USER },
  };
  for (const command of Object.keys(packageJson.bin))
    if (command !== "sealift") entries[`usr/bin/${command}`] = { link: "sealift" };
  for (const [path, content] of libraries) entries[path] = { content, mode: 0o755 };
  for (const { name, copyright } of packages) entries[`usr/share/doc/${name}/copyright`] = { content: copyright };
  for (const file of ["LICENSE", "NOTICE", "dist/THIRD-PARTY-LICENCES.txt"])
    entries[`usr/share/doc/sealift/${file.replace("dist/", "")}`] = { content: readFileSync(file) };
  const folders = Object.keys(entries).flatMap((path) =>
    [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)),
  );
  const paths = [...new Set([...folders, ...Object.keys(entries)])].toSorted();
  return Object.fromEntries(paths.map((path) => [path, entries[path] ?? {}]));
}

const labelsOf = (created: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      created,
      title: "sealift",
      description: packageJson.description,
      version: packageJson.version,
      revision: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
      source: packageJson.homepage.split("#")[0],
      documentation: packageJson.homepage,
      vendor: packageJson.author,
      licenses: LICENCES,
    }).map(([key, value]) => [`org.opencontainers.image.${key}`, value]),
  ) as Record<string, string>;

const sha256 = (bytes: string | Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const pathOf = (digest: string): string => `blobs/${digest.replace(":", "/")}`;

/** Adds a blob, and returns what a manifest says of it. */
function add(blobs: Record<string, Entry>, mediaType: string, content: string | Buffer): Descriptor {
  const digest = sha256(content);
  blobs[pathOf(digest)] = { content };
  return { mediaType, digest, size: Buffer.byteLength(content) };
}

/** Makes the image of one processor. */
export async function makeImage({ program, processor, debs, epoch, isCompressed }: ImageOptions): Promise<Image> {
  const blobs: Record<string, Entry> = {};
  const created = new Date(epoch * 1000).toISOString().replace(".000", "");
  const labels = labelsOf(created);
  const platform = { architecture: PLATFORMS[processor].debian, os: "linux" };
  const layer = await tar(files(program, librariesOf(program, processor, debs)), epoch);
  const config = {
    ...{ created, ...platform },
    config: {
      User: `${USER}:${USER}`,
      ExposedPorts: { "8787/tcp": {} },
      Env: ["PATH=/usr/bin", `HOME=${DATA}`],
      Entrypoint: [`/${PROGRAM}`],
      Cmd: ["hub", "serve", "--listen", "0.0.0.0:8787"],
      Volumes: { [DATA]: {} },
      WorkingDir: DATA,
      Labels: labels,
      StopSignal: "SIGTERM",
      // Docker's own field: Kubernetes has probes instead. Nanoseconds.
      Healthcheck: {
        Test: ["CMD", `/${PROGRAM}`, "health"],
        Interval: 30e9,
        Timeout: 10e9,
        StartPeriod: 60e9,
        Retries: 3,
      },
    },
    rootfs: { type: "layers", diff_ids: [sha256(layer)] },
    history: [{ created, created_by: "npm run build:oci" }],
  };
  const configDescriptor = add(blobs, `${OCI}.config.v1+json`, JSON.stringify(config));
  const layers = [
    add(
      blobs,
      `${OCI}.layer.v1.tar${isCompressed ? "+gzip" : ""}`,
      isCompressed ? gzipSync(layer, { level: 9 }) : layer,
    ),
  ];
  const mediaType = `${OCI}.manifest.v1+json`;
  const manifest = { schemaVersion: 2, mediaType, config: configDescriptor, layers, annotations: labels };
  return {
    descriptor: { ...add(blobs, mediaType, JSON.stringify(manifest)), platform },
    forDocker: {
      Config: pathOf(configDescriptor.digest),
      RepoTags: [`sealift:${packageJson.version}`],
      Layers: layers.map(({ digest }) => pathOf(digest)),
    },
    blobs,
  };
}

/**
 * Returns the files of an OCI layout whose tag is the version: of one image, which `docker load` takes too, or of an
 * index of several.
 */
export function layoutOf(images: readonly Image[]): Record<string, Entry> {
  const blobs = Object.assign({}, ...images.map((image) => image.blobs)) as Record<string, Entry>;
  const index = (manifests: readonly Descriptor[]): string =>
    JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests });
  const descriptors = images.map(({ descriptor }) => descriptor);
  const tagged = descriptors.length === 1 ? descriptors[0]! : add(blobs, INDEX_TYPE, index(descriptors));
  const annotations = { "org.opencontainers.image.ref.name": packageJson.version };
  return {
    "oci-layout": { content: JSON.stringify({ imageLayoutVersion: "1.0.0" }) },
    "index.json": { content: index([{ ...tagged, annotations } as Descriptor]) },
    ...(images.length === 1 && { "manifest.json": { content: JSON.stringify([images[0]!.forDocker]) } }),
    "blobs/": {},
    "blobs/sha256/": {},
    ...blobs,
  };
}
