import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { ArchiveVerifier } from "../../artifact/signatures/archive-hmac.ts";
import { ArtifactThread } from "../../artifact/thread/artifact-thread.ts";
import { unzipOn } from "../../artifact/zip/unzip.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { type AuthorHeaders, checkNamed, type InstallHeaders } from "../../client/install-headers.ts";
import { MarketplaceClient } from "../../client/marketplace-client.ts";
import type { RootOrigin } from "../../client/trust-roots.ts";
import { tellWaits } from "../../client/wait-event.ts";
import { artifactError, asSealiftError, usageError } from "../../contract/errors.ts";
import type { InstallPlan } from "../../contract/files/install-plan.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { targetName } from "../../contract/target.ts";
import { type FetchedAhead, readAhead, sealedAhead, writeAhead } from "../../releases/ahead.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { readFault, readTextFile } from "../../support/files.ts";
import { printableJson } from "../../support/printable.ts";
import { parsePlan, readDescriptor } from "../base/documents.ts";
import { checkSupervised, orderPlan } from "../base/plan.ts";
import { checkDescriptor } from "./check-descriptor.ts";
import { keptBytes, KeptDownload } from "./kept-download.ts";
import { marketplaceReporter } from "./marketplace-report.ts";
import { RunMirrors } from "./mirrors.ts";
import { rememberProven } from "./proven-secret.ts";
import type { FetchContext, Fetched, Resolved, Source } from "./source.ts";
import { spool } from "./spool.ts";
import type { AuthorCheck, SignatureCheck, SignerTrust, trustOf } from "./trust.ts";

/** Origin of a plugin's or service's versions: surface A of a hub, or a kit. */
export type ArchiveOrigin = Pick<MarketplaceClient, "detail" | "install" | "installHeaders">;

export interface MarketplaceSourceOptions extends HubConnection {
  kind: MarketplaceKind;
  slug: string;
  version: string;
  /** Developer's signing secret, never fetched by the agent (docs/contract/agent.md, rule 1). */
  signingSecret: string;
  /** Author's keys, one of which must have signed a version; undefined requires none. */
  trust?: SignerTrust | undefined;
  /**
   * Operator's plan, since artifacts carry none (docs/contract/agent.md, rule 4). Undefined where nothing is installed.
   */
  installPlan?: string;
  symlinks: "refuse" | "skip";
  /** Whether a plugin's descriptor may state another version than the marketplace does. */
  allowVersionMismatch?: boolean;
  /** Origin in place of the hub, which also has versions of the trust root: nothing else is asked then. */
  origin?: ArchiveOrigin & { roots: RootOrigin };
}

/**
 * Returns a source for a plugin or service of surface A: spooled while its HMAC is computed, verified, scanned whole,
 * unpacked (docs/contract/agent.md, rules 1 to 6).
 */
export function marketplaceSource(options: MarketplaceSourceOptions): Source {
  const { kind, slug } = options;
  const clientFor = (signal: AbortSignal, more: Pick<HubConnection, "onWait"> = {}): MarketplaceClient =>
    new MarketplaceClient(kind, slug, { ...options, signal, ...more });
  const scope = {
    projectId: slug,
    plugins: new Set(kind === "plugin" ? [slug] : []),
    extensions: new Set(kind === "service" ? [slug] : []),
  };
  /** Reads the operator's plan. @throws UsageError `config_invalid`, `needs_supervisor` */
  const readPlan = async (): Promise<InstallPlan> => {
    const { installPlan: file } = options;
    if (file === undefined) return { format_version: "1", project_id: slug, version: options.version, steps: [] };
    const text = await readTextFile(file, YAML_LIMITS.maxBytes).catch((error: NodeJS.ErrnoException) => {
      throw usageError("config_invalid", `--install-plan ${file} cannot be read: ${readFault(error)}.`, {
        hint: `\`sealift plan init ${slug}\` writes a plan to start from.`,
      });
    });
    return parsePlan(text, file, "local");
  };

  const target = targetName({ kind, slug });
  const trustFor = async (...following: Parameters<ReturnType<typeof trustOf>>): Promise<SignerTrust | undefined> => {
    const { trust } = options;
    // Elliptic curve code, which most deployments of plugins do not need.
    if (trust === undefined || !("follow" in trust)) return trust;
    return (await import("./trust.ts")).trustOf(trust, { kind, slug }, options, options.origin?.roots)(...following);
  };

  return {
    kind,
    slug,
    target,
    requestedVersion: options.version,
    connection: options,
    trust: options.trust,

    async precheck(supervisor) {
      const plan = await readPlan();
      orderPlan(plan, scope, "local");
      checkSupervised(plan, supervisor, "local");
    },

    async acceptedSigners(layout) {
      if (options.trust === undefined) return null;
      const { signersDigest } = await import("./trust.ts");
      return signersDigest(layout, target, options.trust);
    },

    async resolve(context): Promise<Resolved> {
      const { emit, signal, running } = context;
      const plan = await readPlan();
      const detail = await (options.origin ?? clientFor(signal, tellWaits(emit))).detail(running);
      const version = options.version === "latest" ? detail.latest_version : options.version;
      if (!version) {
        throw artifactError("no_version", `No version of ${kind} ${slug} is published yet.`, {
          hint: "Try again when one is.",
        });
      }
      const names = detail.name === undefined ? [slug] : [slug, detail.name];
      const shown = detail.versions?.find((candidate) => candidate.version === version);
      const trust = await trustFor(context, detail.root_version, true);
      return {
        version,
        identity: shown?.sha256 === undefined ? null : `sha256:${shown.sha256}`,
        deprecated: shown?.deprecated,
        fetch: (fetching) => fetchArchive({ ...options, trust }, { version, names, plan }, fetching),
      };
    },

    async followRoot(context, named, asksOthers) {
      await trustFor(context, named, asksOthers);
    },

    async fetchAhead(context): Promise<FetchedAhead> {
      const { version } = options;
      const { layout, target, emit, signal } = context;
      const client = clientFor(signal, tellWaits(emit));
      const mirrors = new RunMirrors(options.mirrors ?? [], context);
      const kept = new KeptDownload(version, context);
      const attempt = (): Promise<FetchedAhead> =>
        client.install(
          version,
          async ({ hmac, author, size }, body) => {
            const checks = [
              new ArchiveVerifier(options.signingSecret, hmac),
              ...(await authorChecks(options, version, author, context)),
            ];
            const check: SignatureCheck = {
              update: (chunk) => checks.forEach((each) => each.update(chunk)),
              verify: () => checks.forEach((each) => each.verify()),
            };
            return writeAhead(layout, target, { version, signature: hmac, check, size, body }, signal);
          },
          mirrors,
          kept,
        );
      const fetched = await mirrors.fetch(undefined, attempt, kept);
      await kept.drop();
      return fetched;
    },

    ...marketplaceReporter(options),
  };
}

/** Returns the check of the author's signature, where one is required. */
async function authorChecks(
  { trust }: MarketplaceSourceOptions,
  version: string,
  headers: AuthorHeaders,
  context: Pick<FetchContext, "layout" | "target">,
): Promise<AuthorCheck[]> {
  if (trust === undefined) return [];
  // Elliptic curve code, which most deployments of plugins do not need.
  const { authorCheck } = await import("./trust.ts");
  return [await authorCheck(context, trust, version, headers)];
}

/** Version of the marketplace, the names that its headers may state, and the operator's plan for it. */
interface WantedArchive {
  version: string;
  names: readonly string[];
  plan: InstallPlan;
}

async function fetchArchive(
  options: MarketplaceSourceOptions,
  { version, names, plan }: WantedArchive,
  context: FetchContext,
): Promise<Fetched> {
  const { kind, slug } = options;
  const { staging, emit, signal, limits } = context;
  const archive = join(staging, "artifact.zip");
  const client = options.origin ?? new MarketplaceClient(kind, slug, { ...options, signal, ...tellWaits(emit) });
  // Starts while the archive arrives.
  await using thread = new ArtifactThread();
  const take = async ({ named, hmac: expected, author: given, repo, size }: InstallHeaders, body: Readable) => {
    checkNamed(named, version, names);
    const [author] = await authorChecks(options, version, given, context);
    const hmac = { secret: options.signingSecret, expected };
    return { repo: repo ?? null, author, ...(await spool(archive, body, { size, hmac, author }, context)) };
  };
  const mirrors = new RunMirrors(options.mirrors ?? [], context);
  const kept = context.keeps === true ? new KeptDownload(version, context) : undefined;
  const onResumed = (bytes: number, reason: string): void => emit({ event: "fetch.resumed", bytes, reason });
  const { repo, author, ...spooled } =
    (await takeAhead(client, version, take, context)) ??
    (await mirrors.fetch(undefined, () => client.install(version, take, mirrors, kept, onResumed), kept));
  emit({ event: "verify.ok", check: "hmac" });
  if (author !== undefined) emit({ event: "verify.ok", check: "signature" });
  const tree = join(staging, "tree");
  await mkdir(tree, { mode: 0o700 });
  const unpacked = await unzipOn(thread, archive, tree, {
    limits,
    symlinks: options.symlinks,
    signal,
    onScanned({ skippedLinks }) {
      emit({ event: "verify.ok", check: "archive" });
      for (const link of skippedLinks)
        emit({ event: "warning", message: `Left out the symbolic link ${printableJson(link)}.` });
    },
  });
  await rm(archive);
  const { bytes } = spooled;
  const facts = { bytes, files: unpacked.files.length, unpacked_bytes: unpacked.bytes, ...keptBytes(kept) };
  emit({ event: "fetch.done", ...facts });
  const described = kind === "plugin" ? await readDescriptor(tree) : undefined;
  if (described !== undefined) checkDescriptor(described, version, options);
  return {
    plan,
    planOrigin: "local",
    tree,
    plugins: new Map(
      described === undefined
        ? []
        : [
            [
              slug,
              {
                folder: ".",
                requiredEnvironment: described.environment.required,
                optionalEnvironment: described.environment.optional,
              },
            ],
          ],
    ),
    extensions: new Map(kind === "service" ? [[slug, { folder: "." }]] : []),
    keep: [],
    identity: `sha256:${spooled.sha256}`,
    // The archive's own digest, which is its identity, already covers it.
    contentSha256: null,
    listing: { files: unpacked.files, emptyFolders: [] },
    artifactSha256: spooled.sha256,
    repo,
    reported: [],
    signer: author?.signer ?? null,
    remember: async () => {
      await author?.remember?.();
      await rememberProven(context.layout, context.target, options.signingSecret);
    },
  };
}

/**
 * Uses the archive that was fetched ahead. Requests its headers from the hub first, which may have revoked the key.
 *
 * @param take checks and copies it
 * @returns undefined where there is none, or where it is unusable: an event says why
 */
async function takeAhead<T>(
  client: ArchiveOrigin,
  version: string,
  take: (headers: InstallHeaders, body: Readable) => Promise<T>,
  { layout, target, emit, signal, staging }: FetchContext,
): Promise<T | undefined> {
  const ahead = await readAhead(layout, target);
  if (ahead?.version !== version) return undefined;
  const headers = await client.installHeaders(version);
  if (headers.hmac !== ahead.signature) return undefined;
  emit({ event: "ahead.used", version, bytes: ahead.bytes });
  try {
    return await take(headers, Readable.from(sealedAhead(layout, target)));
  } catch (thrown) {
    const { code, message: reason } = asSealiftError(thrown, "ArtifactError");
    // Another download would only fill a full disk further.
    if (signal.aborted || code === "disk_full") throw thrown;
    emit({ event: "ahead.unusable", version, code, reason });
    await rm(join(staging, "artifact.zip"), { force: true });
    return undefined;
  }
}
