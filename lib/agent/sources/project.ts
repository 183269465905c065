import { join } from "node:path";
import { DeployClient } from "../../client/deploy-client.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import type { RootOrigin } from "../../client/trust-roots.ts";
import { tellWaits } from "../../client/wait-event.ts";
import { artifactError } from "../../contract/errors.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER, applicationsOf } from "../../contract/files/application-names.ts";
import { INTEGRATION_FILE, type Manifest, MANIFEST_FILE, PLAN_FILE } from "../../contract/files/manifest.ts";
import type { HubLocation, ProjectReport } from "../../contract/surfaces/deploy.ts";
import { type LocalReport, stepsToReport } from "../../contract/surfaces/reports.ts";
import { targetName } from "../../contract/target.ts";
import { type FetchedAhead, readAhead, writeAhead } from "../../releases/ahead.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { readTextFile } from "../../support/files.ts";
import type { Reporter } from "../base/reporter.ts";
import { KeptDownload } from "./kept-download.ts";
import { RunMirrors } from "./mirrors.ts";
import type { PinnedPluginOptions } from "./pinned-plugins.ts";
import {
  deltaOf,
  fetchTree,
  loadPlanParser,
  type Located,
  MAX_SEALED_BYTES,
  type ProjectOrigin,
} from "./project-fetch.ts";
import { rememberProven } from "./proven-secret.ts";
import type { FetchContext, Fetched, Resolved, Source } from "./source.ts";
import { signatureCheck, signersDigest, type SignerTrust, trustedSigner, trustOf } from "./trust.ts";

export interface ProjectSourceOptions extends HubConnection {
  projectId: string;
  version: string;
  deploymentCredential: string;
  trust: SignerTrust;
  /** Whether a delta may be fetched instead of the full artifact. Default true. */
  delta?: boolean;
  /** Secrets for plugins that the manifest fetches from elsewhere. */
  sources?: Pick<PinnedPluginOptions, "signingSecret" | "gitTokens">;
  /** Origin in place of the hub, which also has versions of the trust root: nothing else is asked then. */
  origin?: ProjectOrigin & { roots: RootOrigin };
}

/**
 * Returns a source for a project of surface B: authenticate, resolve, locate, authorize, then one pass
 * (docs/contract/deploy.md).
 */
export function projectSource(options: ProjectSourceOptions): Source {
  const { projectId } = options;
  const clientFor = (signal: AbortSignal, more: Pick<HubConnection, "onWait"> = {}): DeployClient =>
    new DeployClient(projectId, { ...options, signal, ...more });

  const target = targetName({ kind: "project", slug: projectId });
  const trustFor = trustOf(options.trust, { kind: "project", slug: projectId }, options, options.origin?.roots);

  return {
    kind: "project",
    slug: projectId,
    target,
    requestedVersion: options.version,
    connection: options,
    trust: options.trust,

    acceptedSigners(layout) {
      return signersDigest(layout, target, options.trust);
    },

    async resolve(context): Promise<Resolved> {
      const { emit, signal, running } = context;
      const client = options.origin ?? clientFor(signal, tellWaits(emit));
      await client.authenticate();
      emit({ event: "auth.ok" });
      const version = options.version === "latest" ? await client.latestVersion(running) : options.version;
      const location = await client.locate(version);
      const trust = await trustFor(context, location.root_version, true);
      return {
        version,
        identity: location.signature,
        deprecated: location.deprecated,
        fetch: (fetching) => fetchArtifact({ ...options, trust }, { client, version, location }, fetching),
      };
    },

    async followRoot(context, named, asksOthers) {
      await trustFor(context, named, asksOthers);
    },

    async fetchAhead(context): Promise<FetchedAhead> {
      const { layout, target, emit, signal } = context;
      const client = clientFor(signal, tellWaits(emit));
      const location = await client.locate(options.version);
      const offered = Buffer.from(location.signer_public_key, "base64");
      const { publicKey } = await trustedSigner(layout, target, options.trust, offered);
      const kept = new KeptDownload(options.version, context);
      const isFull = (await kept.signature()) === location.signature;
      const delta = isFull ? undefined : await deltaOf(options, location, publicKey, context);
      const at = delta && ((found: HubLocation) => delta.addressIn(found, delta.chosen.delta));
      const { signature, size_bytes: expectedBytes } = delta?.chosen.delta ?? location;
      const mirrors = new RunMirrors(options.mirrors ?? [], context);
      const attempt = async (): Promise<FetchedAhead> => {
        const circumstances = { signature, unpacksLater: location.size_bytes ?? 0, isWritten: true };
        const from = { maxBytes: MAX_SEALED_BYTES, mirrors, expectedBytes, kept: kept.for(circumstances) };
        const sealed = {
          version: options.version,
          signature,
          check: signatureCheck(options.version, signature, publicKey),
          size: location.size_bytes,
          body: client.download(options.version, location, from, at),
        };
        return writeAhead(layout, target, sealed, signal);
      };
      const fetched = await mirrors.fetch(undefined, attempt, kept);
      await kept.drop();
      return fetched;
    },

    ...projectReporter(options),
  };
}

/** Returns a reporter of a project's deployments on this host. */
export function projectReporter(options: HubConnection & { projectId: string }): Reporter {
  const { projectId } = options;
  return {
    async report(report: LocalReport, signal: AbortSignal): Promise<void> {
      const body = projectReportOf(report, options);
      await new DeployClient(projectId, { ...options, signal }).report(body, report.trust_root);
    },
  };
}

/** Returns the report of a project's deployment as it goes to the hub. */
export function projectReportOf(
  report: LocalReport,
  { projectId, labels }: Pick<HubConnection, "labels"> & { projectId: string },
): ProjectReport {
  return {
    project_id: projectId,
    deployment_id: report.deployment_id,
    // Surface B knows two states: a rolled-back deployment reports `failed`, and a field beside it says so.
    status: report.status === "success" ? "success" : "failed",
    version: report.resolved_version ?? report.requested_version,
    started_at: report.started_at,
    completed_at: report.completed_at,
    plugins: report.plugins,
    host_id: report.host_id,
    error_message: report.error_message,
    ...(report.code !== null && { code: report.code }),
    rolled_back: report.status === "rolled_back",
    running_version: report.running_version,
    running_signer: report.running_signer,
    ...(report.health !== undefined && { health: report.health }),
    steps: stepsToReport(report.steps),
    ...(report.log !== undefined && { log: report.log }),
    ...(report.applications !== undefined && { applications: report.applications }),
    ...(labels !== undefined && { labels }),
  };
}

/**
 * Authorizes, then downloads, verifies, decrypts and unpacks in one pass: a delta where one fits, otherwise the full
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
  const mirrors = new RunMirrors(options.mirrors ?? [], context);
  const ahead = await readAhead(layout, target);
  const kept = context.keeps === true ? new KeptDownload(version, context) : undefined;
  const fetching = { options, located, signer: signer.publicKey, tree, mirrors, context, ahead, kept };
  const { manifest, listing, artifactSha256 } = await fetchTree(fetching);
  checkManifest(manifest, projectId, version);
  emit({ event: "verify.ok", check: "manifest" });
  const isFetched = [...manifest.plugins, ...manifest.extensions].some(
    ({ source }) => (source?.marketplace_slug ?? undefined) !== undefined,
  );
  const { signingSecret } = options.sources ?? {};
  if ([...manifest.plugins, ...manifest.extensions].some(({ source }) => source !== null)) {
    if (options.origin !== undefined)
      throw artifactError("kit_incomplete", `${version} names plugins that are fetched from elsewhere.`, {
        hint: "Nothing was installed. A kit brings what a version embeds: publish one that embeds its plugins.",
      });
    // Loaded only for projects that do not embed all of their plugins.
    const { fetchPinnedPlugins } = await import("./pinned-plugins.ts");
    const { sources = { gitTokens: new Map() } } = options;
    await fetchPinnedPlugins(manifest, tree, { ...options, ...sources }, mirrors, context);
  }
  const { parseForeignPlan } = await loadPlanParser();
  const plan = await parseForeignPlan(await readPlan(tree), PLAN_FILE);
  const apps = applicationsOf(plan);
  if (manifest.plugins.length === 0 && apps.length === 0)
    throw artifactError("manifest_invalid", "The manifest names no plugin, and the plan installs no application.", {
      hint: "Nothing was installed. Ask the publisher to correct the project.",
    });
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
    apps: new Set(apps.filter((id) => listing.files.find(`${APPLICATIONS_FOLDER}/${id}/${APPLICATION_FILE}`))),
    keep: [MANIFEST_FILE, INTEGRATION_FILE],
    identity: location.signature,
    contentSha256: manifest.content_sha256,
    listing,
    artifactSha256: artifactSha256 ?? location.artifact_sha256 ?? null,
    signer: offered.toString("hex"),
    repo: null,
    reported: manifest.plugins,
    remember: async () => {
      await signer.remember?.();
      if (isFetched && signingSecret !== undefined) await rememberProven(layout, target, signingSecret);
    },
  };
}

/** Checks the manifest against project and version. @throws ArtifactError `manifest_mismatch` */
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
