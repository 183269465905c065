/** A host with a healthy release whose hub begins to lie: what every test of test/attacks/hub-* starts from. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployResult } from "../../../lib/agent/deployment/run.ts";
import { projectSource } from "../../../lib/agent/sources/project.ts";
import type { ErrorKind } from "../../../lib/contract/errors.ts";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import { forgedArtifact, forgedFrame, forgedSigner, projectTar } from "../forged/artifact.ts";
import { type LyingHub, type LyingHubOptions, startLyingHub } from "../hub/lying-hub.ts";
import { API_KEY, CREDENTIAL, PROJECT } from "../hub/surface-b.ts";
import { mayChange, snapshot } from "./attacked-host.ts";

export interface HubFault {
  kind: ErrorKind;
  code: string;
  exitCode: number;
  status?: number;
  /** A part of the message, for example the hub's own text. */
  says?: string;
}

export interface LiedToHost {
  hub: LyingHub;
  root: string;
  deploy: (timeoutMs?: number) => Promise<DeployResult>;
  /** Deploys, which must fail like this and change nothing but the reports. */
  fails: (t: Test, what: string, fault: HubFault, timeoutMs?: number) => Promise<void>;
}

/** Runs 1.0.0 already; the hub offers 1.1.0. Not in `t.testdir()`, so that many can stand side by side in one test. */
export async function liedToHost(t: Test, tls?: LyingHubOptions["tls"]): Promise<LiedToHost> {
  const outside = await mkdtemp(join(tmpdir(), "sealift-lied-to-"));
  t.teardown(() => rm(outside, { recursive: true, force: true }));
  const root = join(outside, "host");
  const signer = forgedSigner();
  const artifact = (version: string) =>
    forgedArtifact(forgedFrame(projectTar({ projectId: PROJECT, version })), signer);
  const hub = await startLyingHub(t, { artifact: artifact("1.0.0"), ...(tls && { tls }) });
  const host: LiedToHost = {
    hub,
    root,
    deploy(timeoutMs = 5000) {
      const source = projectSource({
        hubUrl: hub.url,
        apiKey: API_KEY,
        projectId: PROJECT,
        version: "latest",
        deploymentCredential: CREDENTIAL,
        trust: { pinned: [signer.publicKey] },
        timeoutMs,
      });
      return deploy(
        source,
        { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host-1", supervisor: { name: "none" } },
        () => {},
      );
    },
    async fails(t, what, { kind, code, exitCode, status, says = "" }, timeoutMs) {
      const before = snapshot(outside, mayChange);
      const result = await host.deploy(timeoutMs);
      const { error } = result;
      t.equal(result.outcome, "failed", `${what}: ${error?.message}`);
      t.equal(error?.kind, kind, `${what}: kind`);
      t.equal(error?.code, code, `${what}: code`);
      t.equal(result.error?.exitCode ?? 0, exitCode, `${what}: exit code`);
      if (status !== undefined) t.ok(error?.message.includes(String(status)), `${what}: the status is in the message`);
      t.ok(error?.message.includes(says), `${what}: ${error?.message}`);
      t.strictSame(snapshot(outside, mayChange), before, `${what}: the old release is whole, no staging is left`);
      const text = readFileSync(result.report!, "utf8");
      t.match(JSON.parse(text) as LocalReport, { status: "failed", code }, `${what}: the local report`);
      for (const secret of [API_KEY, CREDENTIAL, "session-token", hub.artifact.dek.toString("base64")])
        t.notOk((text + JSON.stringify(error)).includes(secret), `${what}: no secret is told`);
    },
  };
  const first = await host.deploy();
  if (first.outcome !== "deployed") throw new Error(`the healthy release failed: ${first.error?.message}`);
  hub.repent();
  hub.artifact = artifact("1.1.0");
  hub.version = "1.1.0";
  return host;
}
