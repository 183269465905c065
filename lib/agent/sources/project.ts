import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MAX_PLAINTEXT_BYTES, NONCE_BYTES, TAG_BYTES } from "../../artifact/limits.ts";
import { openArtifact } from "../../artifact/project/open.ts";
import { DeployClient } from "../../client/deploy-client.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { artifactError } from "../../contract/errors.ts";
import type { InstallPlan } from "../../contract/files/install-plan.ts";
import { INTEGRATION_FILE, type Manifest, MANIFEST_FILE, PLAN_FILE } from "../../contract/files/manifest.ts";
import type { ArtifactLocation, ProjectReport } from "../../contract/surfaces/deploy.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { readTextFile } from "../../support/files.ts";
import { parseForeignPlan } from "../deployment/plan.ts";
import { throttled } from "../deployment/progress.ts";
import type { SourcePluginOptions } from "./pinned-plugins.ts";
import type { FetchContext, Fetched, Resolved, Source } from "./source.ts";
import { type SignerTrust, trustedSigner } from "./trust.ts";

export interface ProjectSourceOptions extends HubConnection {
  projectId: string;
  version: string;
  deploymentCredential: string;
  trust: SignerTrust;
  /** For plugins that the manifest fetches from elsewhere. */
  sources?: Pick<SourcePluginOptions, "signingSecret" | "gitTokens">;
}

/** A project from surface B: authenticate, resolve, locate, authorize, then one pass (docs/contract/deploy.md). */
export function projectSource(options: ProjectSourceOptions): Source {
  const { projectId } = options;
  const clientFor = (signal: AbortSignal): DeployClient => new DeployClient(projectId, { ...options, signal });

  return {
    kind: "project",
    slug: projectId,
    target: `project-${projectId}`,
    requestedVersion: options.version,

    async resolve({ emit, signal }): Promise<Resolved> {
      const client = clientFor(signal);
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
      };
      await clientFor(signal).report(body);
    },
  };
}

/** A version that surface B has located, and the client whose session located it. */
interface Located {
  client: DeployClient;
  version: string;
  location: ArtifactLocation;
}

/** Authorizes, then downloads, verifies, decrypts and unpacks in one pass. */
async function fetchArtifact(
  options: ProjectSourceOptions,
  { client, version, location }: Located,
  context: FetchContext,
): Promise<Fetched> {
  const { projectId } = options;
  const { layout, target, emit, signal, limits, staging } = context;
  emit({ event: "locate.ok", size_bytes: location.size_bytes ?? null });
  const offered = Buffer.from(location.signer_public_key, "base64");
  const signer = await trustedSigner(layout, target, options.trust, offered);
  const dek = await client.authorize(options.deploymentCredential, location.signature);
  emit({ event: "authorize.ok" });
  const tree = join(staging, "tree");
  await mkdir(tree, { mode: 0o700 });
  let bytes = 0;
  let size = location.size_bytes ?? null;
  let unpackedBytes = 0;
  const progress = throttled(emit, () => ({
    event: "fetch.progress",
    bytes,
    size_bytes: size,
    unpacked_bytes: unpackedBytes,
  }));
  emit({ event: "fetch.started", size_bytes: size });
  const download = client.download(version, location, {
    maxBytes: MAX_PLAINTEXT_BYTES + NONCE_BYTES + TAG_BYTES,
    onReceived: (received, total) => {
      bytes = received;
      size ??= total ?? null;
      progress();
    },
    onResumed: (received, reason) => emit({ event: "fetch.resumed", bytes: received, reason }),
  });
  const { manifest, ...opened } = await openArtifact(download, {
    dek,
    signature: Buffer.from(location.signature, "base64"),
    signerPublicKey: signer.publicKey,
    staging: tree,
    limits,
    signal,
    onUnpacked: (unpacked) => {
      unpackedBytes = unpacked;
      progress();
    },
    onVerified: () => emit({ event: "verify.ok", check: "signature" }),
  });
  emit({ event: "fetch.done", bytes, files: opened.files, unpacked_bytes: opened.bytes });
  checkManifest(manifest, projectId, version);
  emit({ event: "verify.ok", check: "manifest" });
  if ([...manifest.plugins, ...manifest.extensions].some(({ source }) => source !== null)) {
    // Most projects embed all of their plugins: what fetches others is loaded for those that do not.
    const { fetchSourcePlugins } = await import("./pinned-plugins.ts");
    const { sources = { gitTokens: new Map() } } = options;
    await fetchSourcePlugins(manifest, tree, { ...options, ...sources }, context);
  }
  const plan = await readPlan(tree);
  await signer.remember?.();
  return {
    plan,
    planOrigin: "artifact",
    tree,
    plugins: new Map(
      manifest.plugins.map(({ id, environment }) => [
        id,
        { folder: `${manifest.plugins_dirname}/${id}`, requiredEnvironment: environment?.required ?? [] },
      ]),
    ),
    extensions: new Map(manifest.extensions.map(({ id }) => [id, { folder: `extensions/${id}` }])),
    keep: [MANIFEST_FILE, INTEGRATION_FILE],
    identity: location.signature,
    contentSha256: manifest.content_sha256,
    artifactSha256: location.artifact_sha256 ?? null,
    repo: null,
    reported: manifest.plugins,
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

/** @throws ArtifactError `plan_missing`, `plan_invalid` */
async function readPlan(tree: string): Promise<InstallPlan> {
  let text: string;
  try {
    text = await readTextFile(join(tree, PLAN_FILE), YAML_LIMITS.maxBytes);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw artifactError("plan_invalid", `The artifact's ${PLAN_FILE} is not valid: ${cause.message}.`, { cause });
    throw artifactError("plan_missing", `The artifact has no ${PLAN_FILE}.`, {
      cause,
      hint: "Ask the publisher to add one.",
    });
  }
  return parseForeignPlan(text, PLAN_FILE);
}
