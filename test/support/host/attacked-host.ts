/** A host with a healthy release, its hub, and an attacker: what every test of test/attacks/artifact-* starts from. */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import type { Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployOptions, type DeployResult } from "../../../lib/agent/deployment/run.ts";
import { projectSource, type ProjectSourceOptions } from "../../../lib/agent/sources/project.ts";
import type { Code } from "../../../lib/contract/codes.ts";
import type { ErrorKind } from "../../../lib/contract/errors.ts";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import {
  type ForgedArtifact,
  forgedArtifact,
  forgedFrame,
  type ForgedProject,
  type ForgedSigner,
  forgedSigner,
  projectTar,
} from "../forged/artifact.ts";
import { createProject, type ProjectAccess, type RunningHub, sha256, startHub } from "../hub/harness.ts";

/** Every path below a folder with its type and content, links by their text. */
export function snapshot(folder: string, skip: (path: string) => boolean = () => false): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (path: string): void => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const inside = path === "" ? entry.name : `${path}/${entry.name}`;
      if (skip(inside)) continue;
      const full = join(folder, inside);
      if (entry.isSymbolicLink()) found[inside] = `link to ${readlinkSync(full)}`;
      else if (entry.isDirectory()) {
        found[inside] = "folder";
        visit(inside);
      } else if (entry.isFile()) {
        const { mode } = statSync(full);
        found[inside] = `file ${(mode & 0o7777).toString(8)} ${sha256(readFileSync(full))}`;
      } else found[inside] = "special";
    }
  };
  visit("");
  return found;
}

/** The paths that a failed deployment may change: its report, the quarantine, the lock's own file. */
export const mayChange = (path: string): boolean => /(^|\/)\.sealift\/(reports|outbox|state|lock)(\/|$)/.test(path);

export interface Refusal {
  code: Code;
  kind?: ErrorKind;
  exitCode?: number;
}

export interface DeployVariant {
  options?: Partial<DeployOptions>;
  source?: Partial<ProjectSourceOptions>;
}

export interface AttackedHost {
  hub: RunningHub;
  project: ProjectAccess;
  signer: ForgedSigner;
  /** The folder around the project root, where nothing may appear. */
  outside: string;
  root: string;
  /** A healthy project of this host, to change. */
  describe(version: string, changes?: Omit<ForgedProject, "projectId" | "version">): ForgedProject;
  /** Seals a tar as one proper frame, signed by the trusted key. */
  seal(tar: Uint8Array): ForgedArtifact;
  publish(version: string, artifact: ForgedArtifact): Promise<void>;
  deploy(version: string, variant?: DeployVariant): Promise<DeployResult>;
  /** Deploys `version`, which must be refused, and leave everything as it was. */
  refuses(t: Test, version: string, refusal: Refusal, variant?: DeployVariant): Promise<void>;
  /** Publishes a forged project or tar as the next version and makes sure that it is refused. */
  refusesTar(t: Test, tar: Uint8Array, refusal: Refusal, variant?: DeployVariant): Promise<void>;
  refusesProject(
    t: Test,
    changes: Omit<ForgedProject, "projectId" | "version">,
    refusal: Refusal,
    variant?: DeployVariant,
  ): Promise<void>;
  refusesArtifact(t: Test, artifact: ForgedArtifact, refusal: Refusal, variant?: DeployVariant): Promise<void>;
  /** The next version that nobody has published. */
  nextVersion(): string;
  /** Changes the artifact's bytes on their way from the hub. */
  wire: { tamper?: ((bytes: Buffer) => Buffer) | undefined };
}

/**
 * Stands between hub and host, as whoever owns the wire: everything passes, the artifact's bytes as `wire.tamper`
 * leaves them.
 */
async function startWire(t: Test, wire: AttackedHost["wire"], hubUrl: () => string): Promise<string> {
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await fetch(hubUrl() + request.url!, { redirect: "manual" });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const sent = wire.tamper?.(bytes) ?? bytes;
    response.writeHead(answer.status, { "content-type": "application/octet-stream", "content-length": sent.length });
    response.end(sent);
  };
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A hub, a project, and a host that runs its version 1.0.0. Version 1.0.0 and its files are never touched again. */
export async function attackedHost(t: Test): Promise<AttackedHost> {
  const outside = join(t.testdir({ outside: { "bystander.txt": "unchanged" } }), "outside");
  const root = join(outside, "host");
  const wire: AttackedHost["wire"] = {};
  let hubUrl = "";
  const wireUrl = await startWire(t, wire, () => hubUrl);
  const hub = await startHub(t, { publicUrl: wireUrl, dataDir: join(dirname(outside), "hub"), rateLimits: false });
  hubUrl = await listeningUrl(hub);
  const adminHub: RunningHub = { ...hub, url: hubUrl, call: rebased(hub, hubUrl) };
  const project = await createProject(adminHub);
  const signer = forgedSigner();
  let patch = 0;

  const host: AttackedHost = {
    hub: adminHub,
    project,
    signer,
    outside,
    root,
    wire,
    describe: (version, changes = {}) => ({ projectId: project.id, version, ...changes }),
    seal: (tar) => forgedArtifact(forgedFrame(tar), signer),
    nextVersion: () => `1.1.${patch++}`,
    async publish(version, { file, dek, signature, publicKey }) {
      const answer = await project.publish({
        version,
        bytes: file,
        dek,
        contentSha256: sha256(version),
        signature,
        publicKey,
      });
      if (answer.status !== 201)
        throw new Error(`publishing ${version}: ${answer.status} ${JSON.stringify(answer.body)}`);
    },
    deploy(version, { options, source } = {}) {
      const from = projectSource({
        hubUrl,
        apiKey: project.key,
        projectId: project.id,
        version,
        deploymentCredential: project.credential,
        trust: { pinned: [signer.publicKey] },
        timeoutMs: 10_000,
        ...source,
      });
      const events: AgentEvent[] = [];
      const supervisor: DeployOptions["supervisor"] = { name: "none" };
      return deploy(
        from,
        { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host-1", supervisor, durability: "none", ...options },
        (event) => events.push(event),
      );
    },
    async refuses(t, version, { code, kind = "ArtifactError", exitCode = 4 }, variant) {
      const before = snapshot(outside, mayChange);
      const result = await host.deploy(version, variant);
      t.match(
        { outcome: result.outcome, status: result.status, kind: result.error?.kind, code: result.error?.code },
        { outcome: "failed", status: "failed", kind, code },
        `refused as ${code}: ${result.error?.message}`,
      );
      t.equal(result.error?.exitCode ?? 0, exitCode, "exit code");
      t.not(result.error?.message ?? "", "", "the message says what happened");
      t.strictSame(snapshot(outside, mayChange), before, "the old release is current and whole, no staging is left");
      const report = JSON.parse(readFileSync(result.report!, "utf8")) as LocalReport;
      t.match(report, { status: "failed", code, requested_version: version, resolved_version: version });
      t.equal(report.error_message, result.error?.message);
    },
    async refusesArtifact(t, artifact, refusal, variant) {
      const version = host.nextVersion();
      await host.publish(version, artifact);
      await host.refuses(t, version, refusal, variant);
    },
    refusesTar: (t, tar, refusal, variant) => host.refusesArtifact(t, host.seal(tar), refusal, variant),
    async refusesProject(t, changes, refusal, variant) {
      const version = host.nextVersion();
      await host.publish(version, host.seal(projectTar(host.describe(version, changes))));
      await host.refuses(t, version, refusal, variant);
    },
  };

  await mkdir(root, { recursive: true });
  await writeFile(join(root, "operator.txt"), "mine");
  await host.publish("1.0.0", host.seal(projectTar(host.describe("1.0.0"))));
  const first = await host.deploy("1.0.0");
  if (first.outcome !== "deployed") throw new Error(`the healthy release failed: ${first.error?.message}`);
  return host;
}

/** `listen()` answers the public URL; this is where the hub really is. */
async function listeningUrl(hub: RunningHub): Promise<string> {
  const { port } = hub.hub.app.server.address() as AddressInfo;
  return Promise.resolve(`http://127.0.0.1:${port}`);
}

/** The harness calls the public URL, which here is the wire: call the hub itself. */
const rebased =
  (hub: RunningHub, url: string): RunningHub["call"] =>
  (method, path, options) =>
    hub.call(method, path.startsWith("http") ? path : url + path, options);
