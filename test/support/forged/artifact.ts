/**
 * Artifacts made by hand, for attacks: a tar writer that writes whatever it is told, a zstd frame of raw and run-length
 * blocks, and a seal of node:crypto alone. None of it is the product's code, so a mistake there is not repeated here.
 */
import { createCipheriv, createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

const BLOCK = 512;

/** One member as it will stand in the archive, however wrong. */
export interface ForgedMember {
  name: string;
  content?: Uint8Array | string;
  /** The type flag: "0" file, "1" hard link, "2" symlink, "3" and "4" devices, "5" folder, "6" fifo, "S" GNU sparse… */
  type?: string;
  mode?: number;
  linkname?: string;
  /** The header's length instead of the content's. */
  declaredSize?: number;
  /** The twelve bytes of the size field, as they are. */
  rawSize?: Buffer;
  /** Records of a pax header in front of the member. */
  pax?: Record<string, string>;
  /** Puts the name into a GNU `././@LongLink` member in front. */
  gnuLongName?: boolean;
}

const padded = (bytes: Uint8Array): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);

function headerBlock(member: ForgedMember, name: string, type: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name.slice(0, 100), 0, 100, "utf8");
  block.write(`${(member.mode ?? 0o644).toString(8).padStart(7, "0")}\0`, 100, "latin1");
  block.write("0000000\0".repeat(2), 108, "latin1");
  if (member.rawSize !== undefined && type !== "x" && type !== "L") member.rawSize.copy(block, 124);
  else block.write(`${size.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  block.write("00000000000\0", 136, "latin1");
  block.write(" ".repeat(8), 148, "latin1");
  block.write(type, 156, 1, "latin1");
  block.write(member.linkname ?? "", 157, 100, "utf8");
  block.write("ustar\x0000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** The records of one pax header: `<length> <key>=<value>\n`, where the length counts itself. */
export function paxRecords(records: Record<string, string>): Buffer {
  return Buffer.concat(
    Object.entries(records).map(([key, value]) => {
      const rest = Buffer.from(` ${key}=${value}\n`);
      let length = rest.length + 1;
      while (String(length).length + rest.length !== length) length++;
      return Buffer.concat([Buffer.from(String(length)), rest]);
    }),
  );
}

/** The blocks of one member, headers included. */
export function memberBlocks(member: ForgedMember): Buffer {
  const content = Buffer.from(member.content ?? "");
  const type = member.type ?? (member.name.endsWith("/") ? "5" : "0");
  const blocks: Buffer[] = [];
  if (member.gnuLongName === true) {
    const name = Buffer.from(`${member.name}\0`);
    blocks.push(headerBlock(member, "././@LongLink", "L", name.length), padded(name));
  }
  const records = { ...member.pax };
  if (member.gnuLongName !== true && Buffer.byteLength(member.name) > 100) records["path"] ??= member.name;
  if (Object.keys(records).length > 0) {
    const text = paxRecords(records);
    blocks.push(headerBlock(member, "PaxHeader", "x", text.length), padded(text));
  }
  blocks.push(headerBlock(member, member.name, type, member.declaredSize ?? content.length), padded(content));
  return Buffer.concat(blocks);
}

/** A tar of members, in the order given, with its two closing blocks. */
export const forgedTar = (members: readonly ForgedMember[]): Buffer =>
  Buffer.concat([...members.map(memberBlocks), Buffer.alloc(2 * BLOCK)]);

export interface FrameOptions {
  /** `null` writes no content size at all. Default: the true one. */
  contentSize?: number | null;
  windowLog?: number;
  dictionaryId?: number;
  /** Bytes of zeros behind the content, as run-length blocks of four bytes for 128 KiB each. */
  zeros?: number;
}

const MAX_BLOCK = 128 * 1024;

function blockHeader(size: number, type: 0 | 1 | 3, last: boolean): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((size << 3) | (type << 1) | (last ? 1 : 0), 0, 3);
  return header;
}

/** One zstd frame of raw blocks (RFC 8878), uncompressed, so that every byte of it is known. */
export function forgedFrame(content: Uint8Array, options: FrameOptions = {}): Buffer {
  const { contentSize = content.length + (options.zeros ?? 0), windowLog = 20, dictionaryId, zeros = 0 } = options;
  const descriptor = (contentSize === null ? 0 : 0xc0) | (dictionaryId === undefined ? 0 : 0x03);
  const parts: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, descriptor, (windowLog - 10) << 3])];
  if (dictionaryId !== undefined) {
    const id = Buffer.alloc(4);
    id.writeUInt32LE(dictionaryId);
    parts.push(id);
  }
  if (contentSize !== null) {
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(contentSize));
    parts.push(size);
  }
  for (let at = 0; at < content.length; at += MAX_BLOCK) {
    const piece = content.subarray(at, at + MAX_BLOCK);
    parts.push(blockHeader(piece.length, 0, false), Buffer.from(piece));
  }
  for (let left = zeros; left > 0; left -= MAX_BLOCK)
    parts.push(blockHeader(Math.min(left, MAX_BLOCK), 1, false), Buffer.alloc(1));
  parts.push(blockHeader(0, 0, true));
  return Buffer.concat(parts);
}

export interface ForgedSigner {
  /** 32 bytes. */
  publicKey: Buffer;
  privateKey: KeyObject;
}

export function forgedSigner(): ForgedSigner {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { privateKey, publicKey: publicKey.export({ format: "der", type: "spki" }).subarray(-32) };
}

export interface ForgedArtifact {
  file: Buffer;
  dek: Buffer;
  signature: Buffer;
  publicKey: Buffer;
}

/** `nonce ‖ AES-256-GCM ‖ tag` with its signature, of any plaintext. */
export function forgedArtifact(
  plaintext: Uint8Array,
  signer: ForgedSigner,
  dek: Buffer = randomBytes(32),
): ForgedArtifact {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", dek, nonce);
  const file = Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  return signedFile(file, signer, dek);
}

/** Any bytes as an artifact's file, signed as they are. */
export const signedFile = (file: Buffer, signer: ForgedSigner, dek: Buffer = randomBytes(32)): ForgedArtifact => ({
  file,
  dek,
  signature: sign(null, file, signer.privateKey),
  publicKey: signer.publicKey,
});

const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

/** Orders paths by components, each by code point: the naive way, on arrays of code points. */
function order(a: string, b: string): number {
  const [left, right] = [a, b].map((path) => path.split("/").map((part) => [...part].map((c) => c.codePointAt(0)!)));
  for (let i = 0; i < Math.min(left!.length, right!.length); i++) {
    const [x, y] = [left![i]!, right![i]!];
    for (let j = 0; j < Math.min(x.length, y.length); j++) if (x[j] !== y[j]) return x[j]! - y[j]!;
    if (x.length !== y.length) return x.length - y.length;
  }
  return left!.length - right!.length;
}

/** The tree digest of path → content (docs/contract/project-artifact.md), written once more. */
export function treeDigest(files: ReadonlyMap<string, Uint8Array | string>): string {
  const lines = [...files].toSorted(([a], [b]) => order(a, b)).map(([path, content]) => `${path}:${sha256(content)}`);
  return sha256(lines.join("\n"));
}

export interface ForgedProject {
  projectId: string;
  version: string;
  /** Path → content; a plan and one plugin `demo` are there unless given. */
  files?: Record<string, string | Uint8Array>;
  /** Lines under `steps:`; default installs the plugin. */
  plan?: string;
  /** Changes the manifest before it is written; `null` leaves it out. */
  manifest?: ((manifest: Record<string, unknown>) => unknown) | null;
  /** Members behind the ordinary ones. */
  extra?: readonly ForgedMember[];
  /** Members in front of the ordinary ones. */
  before?: readonly ForgedMember[];
  /** Files that are not in the archive as members but are counted in its digest (because `extra` brings them). */
  counted?: Record<string, string | Uint8Array>;
}

export const planText = (projectId: string, steps: string): string =>
  `format_version: "1"\nproject_id: ${projectId}\nversion: 1.0.0\nsteps:\n${steps}`;

const INSTALL = "  - { id: install, action: install_plugin, plugin: demo }\n";

/** The files of a small, healthy project. */
export function projectFiles(project: ForgedProject): Record<string, string | Uint8Array> {
  return {
    "deployment/install.yaml": planText(project.projectId, project.plan ?? INSTALL),
    "plugins/demo/plugin.yaml": `name: demo\nversion: ${project.version}\n`,
    "plugins/demo/src/main.js": `export default ${JSON.stringify(project.version)};\n`,
    ...project.files,
  };
}

/** The tar of a project: healthy but for what the caller adds or changes. */
export function projectTar(project: ForgedProject): Buffer {
  const files = projectFiles(project);
  const counted = new Map(Object.entries({ ...files, ...project.counted }));
  const plugin = new Map(
    [...counted]
      .filter(([path]) => path.startsWith("plugins/demo/"))
      .map(([path, content]) => [path.slice("plugins/demo/".length), content]),
  );
  const manifest: Record<string, unknown> = {
    format_version: "1",
    project_id: project.projectId,
    project_name: "Demo",
    version: project.version,
    built_at: "2026-01-01T00:00:00.000Z",
    plugins: [{ id: "demo", version: project.version, sha256: treeDigest(plugin), environment: null, source: null }],
    extensions: [],
    plugins_dirname: "plugins",
    content_sha256: treeDigest(counted),
  };
  const members: ForgedMember[] = [{ name: "./" }, ...(project.before ?? [])];
  if (project.manifest !== null) {
    const changed = project.manifest === undefined ? manifest : project.manifest(manifest);
    members.push({
      name: "./manifest.json",
      content: typeof changed === "string" ? changed : JSON.stringify(changed ?? manifest),
    });
  }
  for (const [path, content] of Object.entries(files)) members.push({ name: `./${path}`, content });
  return forgedTar([...members, ...(project.extra ?? [])]);
}
