import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ArtifactThread } from "../../artifact/thread/artifact-thread.ts";
import { safePath } from "../../artifact/tree/safe-path.ts";
import { unzipOn } from "../../artifact/zip/unzip.ts";
import { fetchGitArchive } from "../../client/git-archive.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { checkNamed } from "../../client/install-headers.ts";
import { MarketplaceClient } from "../../client/marketplace-client.ts";
import { tellWaits } from "../../client/wait-event.ts";
import { artifactError, usageError } from "../../contract/errors.ts";
import type { Manifest, PluginSource } from "../../contract/files/manifest.ts";
import { makeFolder, statsOf } from "../../support/files.ts";
import type { RunMirrors } from "./mirrors.ts";
import type { FetchContext } from "./source.ts";
import { spool, type Spooled } from "./spool.ts";
import { authorCheck } from "./trust.ts";

export interface PinnedPluginOptions extends HubConnection {
  /** Developers' signing secret for entries from the marketplace. */
  signingSecret?: string;
  /** Tokens by host, with its port if it is not the default. */
  gitTokens: ReadonlyMap<string, string>;
}

interface SourceEntry {
  id: string;
  what: "plugin" | "extension";
  folder: string;
  sha256: string;
  source: PluginSource;
}

/**
 * Fetches the plugins that a project names instead of embedding (docs/contract/project-artifact.md). The manifest's
 * `sha256` of the fetched tree pins each; links are rejected, because the digest does not cover them.
 *
 * @throws ArtifactError `source_unpinned`, `plugin_digest_mismatch`, and errors of archives and hubs
 * @returns bytes fetched
 */
export async function fetchPinnedPlugins(
  manifest: Manifest,
  tree: string,
  options: PinnedPluginOptions,
  mirrors: RunMirrors,
  context: FetchContext,
): Promise<number> {
  const entries = sourceEntries(manifest);
  let bytes = 0;
  for (const entry of entries) {
    const destination = join(tree, entry.folder);
    if ((await statsOf(destination)) !== undefined) {
      throw artifactError(
        "manifest_invalid",
        `The ${entry.what} ${entry.id} is both embedded and fetched from a source.`,
      );
    }
    const file = join(context.staging, "source.zip");
    bytes += (await fetchEntry(entry, file, options, mirrors, context)).bytes;
    await unpackEntry(entry, file, destination, context);
    await rm(file, { force: true });
    context.emit({ event: "source.fetched", id: entry.id, sha256: entry.sha256 });
  }
  return bytes;
}

function sourceEntries(manifest: Manifest): SourceEntry[] {
  const all = [
    ...manifest.plugins.map((plugin) => ({
      ...plugin,
      what: "plugin" as const,
      folder: `${manifest.plugins_dirname}/${plugin.id}`,
    })),
    ...manifest.extensions.map((extension) => ({
      ...extension,
      what: "extension" as const,
      folder: `extensions/${extension.id}`,
    })),
  ];
  return all.flatMap(({ id, what, folder, sha256, source }) => {
    if (source === null) return [];
    if (sha256 === null) {
      throw artifactError(
        "source_unpinned",
        `The manifest fetches the ${what} ${id} from a source without saying its sha256.`,
        {
          hint: "Nothing was installed. Ask the publisher to pin it.",
        },
      );
    }
    return [{ id, what, folder, sha256, source }];
  });
}

async function fetchEntry(
  entry: SourceEntry,
  file: string,
  options: PinnedPluginOptions,
  mirrors: RunMirrors,
  context: FetchContext,
): Promise<Spooled> {
  const { source } = entry;
  const { signal } = context;
  if (source.url !== null) {
    const { timeoutMs, leastRate, rateLimit, gitTokens: tokens } = options;
    const rates = { ...(leastRate && { leastRate }), ...(rateLimit && { rateLimit }) };
    const transport = { timeoutMs, signal, tokens, ...rates };
    return fetchGitArchive(source.url, source.ref ?? "HEAD", transport, (size, body) =>
      spool(file, body, { size }, context),
    );
  }
  const slug = source.marketplace_slug!;
  const secret = options.signingSecret;
  if (secret === undefined) {
    throw usageError(
      "usage",
      `The project fetches ${entry.id} from the marketplace, and --signing-secret is missing.`,
      {
        hint: "Give its developer's signing secret as SEALIFT_SIGNING_SECRET or --signing-secret-file.",
      },
    );
  }
  const client = new MarketplaceClient(source.marketplace_kind, slug, {
    ...options,
    signal,
    ...tellWaits(context.emit),
  });
  const detail = await client.detail();
  const wanted = source.marketplace_version ?? "latest";
  const version = wanted === "latest" ? detail.latest_version : wanted;
  if (!version) throw artifactError("no_version", `No version of ${source.marketplace_kind} ${slug} is published yet.`);
  const pinned = source.signer_public_keys?.map((key) => Buffer.from(key, "hex"));
  const consume: Parameters<typeof client.install<Spooled>>[1] = async ({ named, hmac, author: given, size }, body) => {
    checkNamed(named, version, detail.name === undefined ? [slug] : [slug, detail.name]);
    const author = pinned && (await authorCheck(context, { pinned }, `${slug} ${version}`, given));
    return spool(file, body, { size, hmac: { secret, expected: hmac }, author }, context);
  };
  return mirrors.fetch(undefined, () => client.install(version, consume, mirrors));
}

async function unpackEntry(
  entry: SourceEntry,
  file: string,
  destination: string,
  { staging, limits, signal, emit }: FetchContext,
): Promise<void> {
  const unpacked = join(staging, "source");
  await mkdir(unpacked, { mode: 0o700 });
  await using thread = new ArtifactThread();
  const { files } = await unzipOn(thread, file, unpacked, { limits, symlinks: "refuse", signal });
  const subdirectory = entry.source.subdirectory === null ? "" : safePath(entry.source.subdirectory, limits);
  const digest = subdirectory === "" ? files.digest() : files.digestOfFolder(subdirectory);
  if (digest !== entry.sha256) {
    throw artifactError(
      "plugin_digest_mismatch",
      `The ${entry.what} ${entry.id} that was fetched has the digest ${digest ?? "of nothing"}, the manifest says ${entry.sha256}.`,
      {
        hint: "Nothing was installed. The source has changed since the project was published.",
      },
    );
  }
  emit({ event: "verify.ok", check: "archive" });
  await makeFolder(dirname(destination));
  await rename(join(unpacked, subdirectory), destination);
  await rm(unpacked, { recursive: true, force: true });
}
