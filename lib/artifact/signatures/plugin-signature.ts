import { createHmac, type Hmac, timingSafeEqual } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";
import * as z from "zod";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { parseSignedJson } from "../../support/documents/signed-json.ts";
import { missing, readTextFile, writeFileAtomic } from "../../support/files.ts";

/**
 * Name of `plugin.sig` (docs/contract/marketplace.md), which a runtime with `strict_trusted` requires of trusted
 * plugins.
 */
export const PLUGIN_SIGNATURE_FILE = "plugin.sig";
const ALGORITHM = "HMAC-SHA256";
/** Largest `plugin.sig`, in bytes; Sealift's have about 200. */
const SIGNATURE_MAX_BYTES = 64 * 1024;

const pluginSignature = z.object({
  plugin: z.string(),
  version: z.string(),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  algo: z.literal(ALGORITHM),
});

const SKIPPED_NAMES = new Set([
  "__pycache__",
  ".git",
  ".mypy_cache",
  ".pytest_cache",
  PLUGIN_SIGNATURE_FILE,
  "plugin.yaml",
  "plugin.json",
]);
const SKIPPED_SUFFIXES = [".pyc", ".pyo"];

const isSkipped = (name: string): boolean =>
  SKIPPED_NAMES.has(name) || SKIPPED_SUFFIXES.some((suffix) => name.endsWith(suffix));

const NUL = Buffer.of(0);

/** Orders names by code point, as their UTF-8 bytes sort, not by UTF-16 unit. */
const byCodePoint = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

async function updateWithFile(hmac: Hmac, path: string): Promise<void> {
  for await (const chunk of createReadStream(path)) hmac.update(chunk as Buffer);
}

/** Hashes a folder depth first with sorted names, which is the order by path components. */
async function updateWithFolder(hmac: Hmac, root: string, relative: string): Promise<void> {
  const entries = await readdir(join(root, relative), { withFileTypes: true });
  entries.sort((a, b) => byCodePoint(a.name, b.name));
  for (const entry of entries) {
    if (isSkipped(entry.name)) continue;
    const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
    if (entry.isDirectory()) {
      await updateWithFolder(hmac, root, path);
    } else if (entry.isFile()) {
      hmac.update(path, "utf8").update(NUL);
      await updateWithFile(hmac, join(root, path));
      hmac.update(NUL);
    }
  }
}

/**
 * Returns the hexadecimal HMAC-SHA256 over `plugin.yaml` and every regular file under the entry point's folder, keyed
 * with the secret's UTF-8 text. Streams the files.
 *
 * @param folder plugin's root
 * @param entryPoint relative to the root, with `/`
 * @throws the file system's error when `plugin.yaml` or the entry point's folder cannot be read
 */
export async function pluginSignatureDigest(folder: string, entryPoint: string, secret: string): Promise<string> {
  const hmac = createHmac("sha256", Buffer.from(secret, "utf8"));
  await updateWithFile(hmac, join(folder, "plugin.yaml"));
  const under = posix.dirname(posix.normalize(entryPoint));
  await updateWithFolder(hmac, folder, under === "." ? "" : under);
  return hmac.digest("hex");
}

export interface PluginFacts {
  name: string;
  version: string;
  /** Path relative to the plugin's root. */
  entryPoint: string;
}

/** Writes `plugin.sig` into the plugin's folder, atomically. */
export async function writePluginSignature(folder: string, plugin: PluginFacts, secret: string): Promise<void> {
  const digest = await pluginSignatureDigest(folder, plugin.entryPoint, secret);
  const content = { plugin: plugin.name, version: plugin.version, digest, algo: ALGORITHM };
  await writeFileAtomic(join(folder, PLUGIN_SIGNATURE_FILE), `${JSON.stringify(content)}\n`);
}

export type SignatureVerdict =
  { valid: true } | { valid: false; code: "signature_missing" | "signature_invalid"; reason: string };

const invalid = (reason: string): SignatureVerdict => ({ valid: false, code: "signature_invalid", reason });

/** Checks a plugin's `plugin.sig`: it must exist, be for this version, and its digest must be that of the folder. */
export async function verifyPluginSignature(
  folder: string,
  plugin: PluginFacts,
  secret: string,
): Promise<SignatureVerdict> {
  let text: string;
  try {
    text = await readTextFile(join(folder, PLUGIN_SIGNATURE_FILE), SIGNATURE_MAX_BYTES);
  } catch (error) {
    if (error instanceof RangeError) return invalid(`plugin.sig is not valid: ${error.message}`);
    if (!missing(error)) throw error;
    return { valid: false, code: "signature_missing", reason: "the plugin has no plugin.sig" };
  }
  let parsed;
  try {
    parsed = safelyParsed(pluginSignature, parseSignedJson(text));
  } catch (error) {
    return invalid(`plugin.sig is not valid JSON: ${(error as Error).message}`);
  }
  if (!parsed.success) return invalid("plugin.sig lacks a field or has one of the wrong form");
  const signature = parsed.data;
  if (signature.plugin !== plugin.name) return invalid(`plugin.sig is for the plugin ${signature.plugin}`);
  if (signature.version !== plugin.version) {
    return invalid(`plugin.sig is for version ${signature.version}, the descriptor says ${plugin.version}`);
  }
  const expected = await pluginSignatureDigest(folder, plugin.entryPoint, secret);
  if (!timingSafeEqual(Buffer.from(expected, "hex"), Buffer.from(signature.digest, "hex"))) {
    return invalid("the plugin's files are not those that were signed");
  }
  return { valid: true };
}
