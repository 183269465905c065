import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { MAX_PLAINTEXT_BYTES, NONCE_BYTES, TAG_BYTES } from "../../artifact/limits.ts";
import { openArtifact } from "../../artifact/project/open.ts";
import { DeployClient } from "../../client/deploy-client.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { tellWaits } from "../../client/wait-event.ts";
import { artifactError, asSealiftError } from "../../contract/errors.ts";
import { INTEGRATION_FILE, type Manifest, MANIFEST_FILE, PLAN_FILE } from "../../contract/files/manifest.ts";
import type { HubLocation, ProjectReport } from "../../contract/surfaces/deploy.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import { targetName } from "../../contract/target.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { readTextFile } from "../../support/files.ts";
import { type Emit, throttled } from "../ground/events.ts";
import type { PinnedPluginOptions } from "./pinned-plugins.ts";
import type { VerifiedTree } from "./project-delta.ts";
import { rememberProven } from "./proven-secret.ts";
import type { FetchContext, Fetched, Resolved, Source } from "./source.ts";
import { type SignerTrust, trustedSigner } from "./trust.ts";

export interface ProjectSourceOptions extends HubConnection {
  projectId: string;
  version: string;
  deploymentCredential: string;
  trust: SignerTrust;
  /** Whether a delta may be taken instead of the full artifact. Default true. */
  delta?: boolean;
  /** For plugins that the manifest fetches from elsewhere. */
  sources?: Pick<PinnedPluginOptions, "signingSecret" | "gitTokens">;
}

/** A project from surface B: authenticate, resolve, locate, authorize, then one pass (docs/contract/deploy.md). */
export function projectSource(options: ProjectSourceOptions): Source {
  const { projectId } = options;
  const clientFor = (signal: AbortSignal, more: Pick<HubConnection, "onWait"> = {}): DeployClient =>
    new DeployClient(projectId, { ...options, signal, ...more });

  return {
    kind: "project",
    slug: projectId,
    target: targetName({ kind: "project", slug: projectId }),
    requestedVersion: options.version,

    async resolve({ emit, signal }): Promise<Resolved> {
      const client = clientFor(signal, tellWaits(emit));
      await client.authenticate();
      emit({ event: "auth.ok" });
      const version = options.version === "latest" ? await client.latestVersion() : options.version;
      const location = await client.locate(version);
      return {
        version,
        identity: location.signature,
        fetch: (context) => fetchArtifact(options, { client, version, location }, context),
      };
    },

    async report(report: LocalReport, signal: AbortSignal): Promise<void> {
      const body: ProjectReport = {
        project_id: projectId,
        deployment_id: report.deployment_id,
        // Surface B knows two states: a rolled-back deployment reports `failed` and says so beside it.
        status: report.status === "success" ? "success" : "failed",
        version: report.resolved_version ?? report.requested_version,
        started_at: report.started_at,
        completed_at: report.completed_at,
        plugins: report.plugins,
        host_id: report.host_id,
        error_message: report.error_message,
        rolled_back: report.status === "rolled_back",
        running_version: report.running_version,
        ...(options.labels !== undefined && { labels: options.labels }),
      };
      await clientFor(signal).report(body);
    },
  };
}

/** A version that surface B has located, and the client whose session located it. */
interface Located {
  client: DeployClient;
  version: string;
  location: HubLocation;
}

/**
 * Authorizes, then downloads, verifies, decrypts and unpacks in one pass: a delta where one fits, else the full
 * artifact.
 */
async function fetchArtifact(options: ProjectSourceOptions, located: Located, context: FetchContext): Promise<Fetched> {
  const { projectId } = options;
  const { version, location } = located;
  const { layout, target, emit, staging } = context;
  emit({ event: "locate.ok", size_bytes: location.size_bytes ?? null });
  const offered = Buffer.from(location.signer_public_key, "base64");
  const signer = await trustedSigner(layout, target, options.trust, offered);
  const tree = join(staging, "tree");
  const fetching: Fetching = { options, located, signer: signer.publicKey, tree, context };
  const { manifest, listing } = (await tryDelta(fetching)) ?? (await fetchFull(fetching));
  checkManifest(manifest, projectId, version);
  emit({ event: "verify.ok", check: "manifest" });
  const isFetched = [...manifest.plugins, ...manifest.extensions].some(
    ({ source }) => (source?.marketplace_slug ?? undefined) !== undefined,
  );
  const { signingSecret } = options.sources ?? {};
  if ([...manifest.plugins, ...manifest.extensions].some(({ source }) => source !== null)) {
    // Most projects embed all of their plugins: what fetches others is loaded for those that do not.
    const { fetchPinnedPlugins } = await import("./pinned-plugins.ts");
    const { sources = { gitTokens: new Map() } } = options;
    await fetchPinnedPlugins(manifest, tree, { ...options, ...sources }, context);
  }
  const { parseForeignPlan } = await loadPlanParser();
  const plan = await parseForeignPlan(await readPlan(tree), PLAN_FILE);
  return {
    plan,
    planOrigin: "artifact",
    tree,
    plugins: new Map(
      manifest.plugins.map(({ id, environment }) => [
        id,
        {
          folder: `${manifest.plugins_dirname}/${id}`,
          requiredEnvironment: environment?.required ?? [],
          optionalEnvironment: environment?.optional ?? [],
        },
      ]),
    ),
    extensions: new Map(manifest.extensions.map(({ id }) => [id, { folder: `extensions/${id}` }])),
    keep: [MANIFEST_FILE, INTEGRATION_FILE],
    identity: location.signature,
    contentSha256: manifest.content_sha256,
    listing,
    artifactSha256: location.artifact_sha256 ?? null,
    repo: null,
    reported: manifest.plugins,
    remember: async () => {
      await signer.remember?.();
      if (isFetched && signingSecret !== undefined) await rememberProven(layout, target, signingSecret);
    },
  };
}

const loadPlanParser = () => import("../ground/documents.ts");

interface Fetching {
  options: ProjectSourceOptions;
  located: Located;
  /** The key that the operator trusts. */
  signer: Uint8Array;
  /** The folder that the whole tree is made in. */
  tree: string;
  context: FetchContext;
}

async function fetchFull({ options, located, signer, tree, context }: Fetching): Promise<VerifiedTree> {
  const { client, version, location } = located;
  const { emit, signal, limits } = context;
  const progress = fetchProgress(emit, location.size_bytes ?? null);
  // The thread that unpacks starts while the key is awaited.
  const dek = client.authorize(options.deploymentCredential, location.signature).then((key) => {
    emit({ event: "authorize.ok" });
    progress.start();
    return key;
  });
  dek.catch(() => {});
  // This thread has time for the parser of YAML while it awaits the answers.
  loadPlanParser().catch(() => undefined);
  await mkdir(tree, { mode: 0o700 });
  const opened = await openArtifact(client.download(version, location, progress.download), {
    dek,
    signature: Buffer.from(location.signature, "base64"),
    signerPublicKey: signer,
    staging: tree,
    limits,
    signal,
    onUnpacked: progress.unpacked,
    onVerified: () => emit({ event: "verify.ok", check: "signature" }),
  });
  progress.done(opened);
  return opened;
}

/**
 * Completes the tree from a delta. Returns undefined without one, or when anything about it is off: an event says why.
 */
async function tryDelta({ options, located, signer, tree, context }: Fetching): Promise<VerifiedTree | undefined> {
  const { client, version, location } = located;
  const { emit, signal } = context;
  if (options.delta === false || location.deltas === undefined) return undefined;
  const { addressIn, chooseDelta, fetchDelta } = await import("./project-delta.ts");
  const chosen = await chooseDelta(context, location, signer);
  if (chosen === undefined) return undefined;
  const { delta } = chosen;
  const { base_version, size_bytes, signature } = delta;
  emit({ event: "delta.chosen", base_version, size_bytes, full_size_bytes: location.size_bytes ?? null });
  try {
    const authorize = async (): Promise<Uint8Array> => {
      const dek = await client.authorize(options.deploymentCredential, signature);
      emit({ event: "authorize.ok" });
      return dek;
    };
    const progress = fetchProgress(emit, size_bytes);
    progress.start();
    const opened = await fetchDelta(
      chosen,
      { projectId: options.projectId, version, contentSha256: location.content_sha256 },
      tree,
      {
        authorize,
        bytes: () => client.download(version, location, progress.download, (found) => addressIn(found, delta)),
        open: {
          signerPublicKey: signer,
          onUnpacked: progress.unpacked,
          onVerified: () => emit({ event: "verify.ok", check: "signature" }),
        },
      },
      context,
    );
    progress.done(opened);
    return opened;
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    const { code, message: reason } = asSealiftError(thrown, "ArtifactError");
    // A full disk would be fuller with the full artifact.
    if (code === "disk_full") throw thrown;
    emit({ event: "delta.failed", base_version, code, reason });
    await rm(tree, { recursive: true, force: true });
    return undefined;
  }
}

/** Tells how far a download has come: bytes received, and bytes of files unpacked. */
function fetchProgress(emit: Emit, expectedBytes: number | null) {
  let bytes = 0;
  let size = expectedBytes;
  let unpackedBytes = 0;
  const tell = throttled(emit, () => ({
    event: "fetch.progress",
    bytes,
    size_bytes: size,
    unpacked_bytes: unpackedBytes,
  }));
  return {
    start: () => emit({ event: "fetch.started", size_bytes: expectedBytes }),
    download: {
      maxBytes: MAX_PLAINTEXT_BYTES + NONCE_BYTES + TAG_BYTES,
      onReceived: (received: number, total: number | undefined) => {
        bytes = received;
        size ??= total ?? null;
        tell();
      },
      onResumed: (received: number, reason: string) => emit({ event: "fetch.resumed", bytes: received, reason }),
    },
    unpacked: (unpacked: number) => {
      unpackedBytes = unpacked;
      tell();
    },
    done: ({ files, bytes: unpacked }: Pick<VerifiedTree, "files" | "bytes">) =>
      emit({ event: "fetch.done", bytes, files, unpacked_bytes: unpacked }),
  };
}

/** @throws ArtifactError `manifest_mismatch` */
function checkManifest(manifest: Manifest, projectId: string, version: string): void {
  const mismatch = (what: string, found: string, wanted: string) =>
    artifactError("manifest_mismatch", `The artifact's manifest is for ${what} ${found}, not ${wanted}.`, {
      hint: "Nothing was installed. Ask the publisher and the hub's operator how it came here.",
    });
  if (manifest.project_id !== projectId) throw mismatch("project", manifest.project_id, projectId);
  if (manifest.version !== version) throw mismatch("version", manifest.version, version);
}

/** Reads the install plan's text. @throws ArtifactError `plan_missing`, `plan_invalid` */
async function readPlan(tree: string): Promise<string> {
  try {
    return await readTextFile(join(tree, PLAN_FILE), YAML_LIMITS.maxBytes);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw artifactError("plan_invalid", `The artifact's ${PLAN_FILE} is not valid: ${cause.message}.`, { cause });
    throw artifactError("plan_missing", `The artifact has no ${PLAN_FILE}.`, {
      cause,
      hint: "Ask the publisher to add one.",
    });
  }
}
