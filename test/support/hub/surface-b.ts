/** Every operation of the agent and the publisher on surface B, ready to be called against a hub that lies. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { DeployClient } from "../../../lib/client/deploy-client.ts";
import type { Transport } from "../../../lib/client/http.ts";
import { publishArtifact } from "../../../lib/client/publish-client.ts";
import { SealiftError } from "../../../lib/contract/errors.ts";
import type { ForgedArtifact } from "../forged/artifact.ts";

export const PROJECT = "prj_0123456789abcdef";
export const API_KEY = "slk_the-api-key-of-the-operator";
export const CREDENTIAL = "sld_the-deployment-credential";

export type OperationName = "auth" | "latest" | "location" | "authorize" | "report" | "publish" | "download";

export interface CallerOptions {
  hubUrl: string;
  artifact: ForgedArtifact;
  timeoutMs?: number;
  signal?: AbortSignal;
  onWait?: Transport["onWait"];
}

export async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  // A chunk may be a buffer that is used again.
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Each operation with a client of its own, so that they can run side by side. */
export function callers(t: Test, { hubUrl, artifact, timeoutMs = 10_000, signal, onWait }: CallerOptions) {
  // Not `t.testdir()`: that empties the folder, and callers may run side by side.
  const folder = mkdtempSync(join(tmpdir(), "sealift-callers-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "artifact.xdeploy");
  writeFileSync(file, artifact.file);
  const options = { hubUrl, apiKey: API_KEY, timeoutMs, ...(signal && { signal }), ...(onWait && { onWait }) };
  const client = () => new DeployClient(PROJECT, options);
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  const fields = {
    version: "1.0.0",
    project_name: "Demo",
    content_sha256: "0".repeat(64),
    dek: base64(artifact.dek),
    signature: base64(artifact.signature),
    signer_public_key: base64(artifact.publicKey),
  };
  const calls: Record<OperationName, () => Promise<unknown>> = {
    auth: () => client().authenticate(),
    latest: () => client().latestVersion(),
    location: () => client().locate("1.0.0"),
    authorize: () => client().authorize(CREDENTIAL, fields.signature),
    report: () =>
      client().report({
        project_id: PROJECT,
        deployment_id: "d",
        status: "success",
        version: "1.0.0",
        started_at: "",
        completed_at: "",
        plugins: [],
      }),
    publish: () => publishArtifact({ ...options, projectId: PROJECT }, fields, file, { start: Buffer.alloc(64, 1) }),
    download: async () => {
      const one = client();
      const location = await one.locate("1.0.0");
      return readAll(one.download("1.0.0", location, { maxBytes: 2 ** 30 }) as AsyncIterable<Buffer>);
    },
  };
  return calls;
}

/** The error that a call ends with. */
export async function errorOf(call: Promise<unknown>): Promise<SealiftError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof SealiftError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}
