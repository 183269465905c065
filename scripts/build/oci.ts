/**
 * `npm run build:oci`: makes `sealift-VERSION-oci-linux-ARCH.tar`, an OCI image from scratch, of the single executable
 * that `npm run build:sea` has made in the same folder (argument; default: here) and the libraries of this Debian that
 * it needs. Two runs give the same bytes: times are `SOURCE_DATE_EPOCH`, or that of the last commit.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import packageJson from "../../package.json" with { type: "json" };
import { scriptArguments } from "../arguments.ts";

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
/** Debian packages of the libraries in the image, whose licences are included. */
const PACKAGES = ["libc6", "libgcc-s1", "libstdc++6", "libatomic1"];
const LICENCES = "Apache-2.0 AND MIT AND LGPL-2.1-or-later AND GPL-3.0-or-later WITH GCC-exception-3.1";
const PROGRAM = "usr/bin/sealift";
const DATA = "/var/lib/sealift";
/** User id that is too high for a user of the host. */
const USER = 10_001;
const OCI = "application/vnd.oci.image";

const { values, positionals } = scriptArguments(import.meta.filename, {
  allowPositionals: true,
  options: { compression: { type: "string", default: "gzip" } },
});
const target = resolve(positionals[0] ?? ".");
const name = `sealift-${packageJson.version}`;
const program = join(target, `${name}-linux-${process.arch}`);
const git = (...words: string[]): string => execFileSync("git", words, { encoding: "utf8" }).trim();
const epoch = Number(process.env["SOURCE_DATE_EPOCH"] ?? git("log", "-1", "--format=%ct"));
const created = new Date(epoch * 1000).toISOString().replace(".000", "");

interface Entry {
  content?: string | Buffer;
  link?: string;
  mode?: number;
  owner?: number;
}

/** Writes a tar; folders end with a slash. */
function tar(entries: Readonly<Record<string, Entry>>): Promise<Buffer> {
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

/** Returns the files of the image, each folder before its contents. */
function files(): Record<string, Entry> {
  // Its dynamic loader is among them.
  const libraries = [...execFileSync("ldd", [program], { encoding: "utf8" }).matchAll(/\/(\S+) \(0x/g)];
  const entries: Record<string, Entry> = {
    [PROGRAM]: { content: readFileSync(program), mode: 0o755 },
    "etc/passwd": { content: `root:x:0:0::/:\nsealift:x:${USER}:${USER}::${DATA}:\n` },
    "etc/group": { content: `root:x:0:\nsealift:x:${USER}:\n` },
    "tmp/": { mode: 0o1777 },
    [`${DATA.slice(1)}/`]: { mode: 0o700, owner: USER },
  };
  for (const command of Object.keys(packageJson.bin))
    if (command !== "sealift") entries[`usr/bin/${command}`] = { link: "sealift" };
  for (const [, path] of libraries) entries[path!] = { content: readFileSync(`/${path!}`), mode: 0o755 };
  for (const library of PACKAGES) {
    const path = `usr/share/doc/${library}/copyright`;
    entries[path] = { content: readFileSync(`/${path}`) };
  }
  for (const file of ["LICENSE", "NOTICE", "dist/THIRD-PARTY-LICENCES.txt"])
    entries[`usr/share/doc/sealift/${file.replace("dist/", "")}`] = { content: readFileSync(file) };
  const folders = Object.keys(entries).flatMap((path) =>
    [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)),
  );
  const paths = [...new Set([...folders, ...Object.keys(entries)])].toSorted();
  return Object.fromEntries(paths.map((path) => [path, entries[path] ?? {}]));
}

const labels = Object.fromEntries(
  Object.entries({
    created,
    title: "sealift",
    description: packageJson.description,
    version: packageJson.version,
    revision: git("rev-parse", "HEAD"),
    source: packageJson.homepage.split("#")[0],
    documentation: packageJson.homepage,
    vendor: packageJson.author,
    licenses: LICENCES,
  }).map(([key, value]) => [`org.opencontainers.image.${key}`, value]),
);

const sha256 = (bytes: string | Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const pathOf = (digest: string): string => `blobs/${digest.replace(":", "/")}`;
const blobs: Record<string, Entry> = {};

function blob(mediaType: string, content: string | Buffer) {
  const digest = sha256(content);
  blobs[pathOf(digest)] = { content };
  return { mediaType, digest, size: Buffer.byteLength(content) };
}

const architecture = ARCHITECTURES[process.arch];
if (architecture === undefined) throw new Error(`There is no image for ${process.arch}.`);
const layer = await tar(files());
const isCompressed = values.compression === "gzip";
const config = {
  created,
  architecture,
  os: "linux",
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
const manifest = {
  schemaVersion: 2,
  mediaType: `${OCI}.manifest.v1+json`,
  config: blob(`${OCI}.config.v1+json`, JSON.stringify(config)),
  layers: [
    blob(`${OCI}.layer.v1.tar${isCompressed ? "+gzip" : ""}`, isCompressed ? gzipSync(layer, { level: 9 }) : layer),
  ],
  annotations: labels,
};
const described = blob(manifest.mediaType, JSON.stringify(manifest));
const index = {
  schemaVersion: 2,
  mediaType: `${OCI}.index.v1+json`,
  manifests: [
    {
      ...described,
      platform: { architecture, os: "linux" },
      annotations: { "org.opencontainers.image.ref.name": packageJson.version },
    },
  ],
};
/** Index for `docker load`, which in its own store supports no other. */
const forDocker = [
  {
    Config: pathOf(manifest.config.digest),
    RepoTags: [`sealift:${packageJson.version}`],
    Layers: manifest.layers.map(({ digest }) => pathOf(digest)),
  },
];
const output = join(target, `${name}-oci-linux-${process.arch}.tar`);
const image = {
  "oci-layout": { content: JSON.stringify({ imageLayoutVersion: "1.0.0" }) },
  "index.json": { content: JSON.stringify(index) },
  "manifest.json": { content: JSON.stringify(forDocker) },
  "blobs/": {},
  "blobs/sha256/": {},
  ...blobs,
};
writeFileSync(output, await tar(image));
console.log(`${output}: ${statSync(output).size} bytes`);
