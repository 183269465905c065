import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { createHub, type Hub, type HubOptions } from "../../../lib/hub/hub.ts";
import { pages } from "../../../lib/web/pages.ts";

/** A hub on a real socket, with its administrator's key. */
export interface RunningHub {
  hub: Hub;
  url: string;
  dataDir: string;
  adminKey: string;
  /** Calls a route with the administrator's key unless `key` says otherwise (null for none). */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export interface CallOptions {
  key?: string | null;
  bearer?: string;
  json?: unknown;
  form?: FormData;
  body?: string | Uint8Array;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Headers;
  bytes: Buffer;
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

/** One request, with the whole answer read. `body` is the parsed JSON, or undefined. */
export async function call(url: string, method: string, options: CallOptions = {}): Promise<Answer> {
  const headers = new Headers(options.headers);
  if (options.key) headers.set("x-api-key", options.key);
  if (options.bearer !== undefined) headers.set("authorization", `Bearer ${options.bearer}`);
  if (options.json !== undefined) headers.set("content-type", "application/json");
  const body = options.form ?? options.body ?? (options.json === undefined ? null : JSON.stringify(options.json));
  const response = await fetch(url, { method, headers, body, redirect: "manual" });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson =
    response.status !== 206 &&
    response.headers.get("content-type")?.startsWith("application/json") === true &&
    bytes.length > 0;
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    body: isJson ? JSON.parse(bytes.toString()) : undefined,
  };
}

/** Starts a hub on a free port and a fresh data dir; it ends with the test. */
export async function startHub(t: Test, options: Partial<HubOptions> = {}): Promise<RunningHub> {
  const dataDir = options.dataDir ?? join(t.testdir(), "hub");
  const hub = await createHub({ listen: { host: "127.0.0.1", port: 0 }, web: pages, ...options, dataDir });
  t.teardown(() => hub.close());
  const url = await hub.listen();
  const adminKey = (await readFile(join(dataDir, "admin.key"), "utf8")).trim();
  return { hub, dataDir, ...hubAt(url, adminKey) };
}

/** A hub that runs already, with the calls of one that a test has started. */
export function hubAt(url: string, adminKey: string): Pick<RunningHub, "url" | "adminKey" | "call"> {
  return {
    url,
    adminKey,
    call: (method, path, { key = adminKey, ...rest } = {}) => {
      const credential = rest.bearer === undefined ? key : null;
      return call(path.startsWith("http") ? path : url + path, method, { ...rest, key: credential });
    },
  };
}

export interface Signer {
  publicKey: Buffer;
  sign(bytes: Uint8Array): Buffer;
}

export function newSigner(): Signer {
  const { privateKey } = generateKeyPairSync("ed25519");
  const spki = createPublicKey(createPrivateKey(privateKey.export({ format: "pem", type: "pkcs8" })));
  return {
    publicKey: spki.export({ format: "der", type: "spki" }).subarray(-32),
    sign: (bytes) => sign(null, bytes, privateKey),
  };
}

export const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex");

export interface Publication {
  version: string;
  bytes: Buffer;
  dek: Buffer;
  contentSha256: string;
  signature: Buffer;
  publicKey: Buffer;
}

/** The form of a publisher; the hub never looks inside the artifact, so any bytes will do. */
export function publication(version: string, { size = 1000, signer = newSigner() } = {}): Publication {
  const bytes = randomBytes(size);
  return {
    version,
    bytes,
    dek: randomBytes(32),
    contentSha256: sha256(`tree of ${version}`),
    signature: signer.sign(bytes),
    publicKey: signer.publicKey,
  };
}

/** The form of a publication; `order` and `changes` make variants (undefined leaves a field out). */
export function publishForm(
  { version, bytes, dek, contentSha256, signature, publicKey }: Publication,
  { fileFirst = false, changes = {} }: { fileFirst?: boolean; changes?: Record<string, string | undefined> } = {},
): FormData {
  const fields: Record<string, string | undefined> = {
    version,
    project_name: "Demo",
    content_sha256: contentSha256,
    dek: dek.toString("base64"),
    signature: signature.toString("base64"),
    signer_public_key: publicKey.toString("base64"),
    ...changes,
  };
  const form = new FormData();
  const file = new Blob([new Uint8Array(bytes)], { type: "application/octet-stream" });
  if (fileFirst) form.set("artifact", file, "artifact.xdeploy");
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value);
  if (!fileFirst) form.set("artifact", file, "artifact.xdeploy");
  return form;
}

export interface ProjectAccess {
  id: string;
  /** Bound to the project: publish, deploy, report, read. */
  key: string;
  keyId: string;
  credential: string;
  /** Opens a session with the key. */
  session(): Promise<string>;
  publish(what: Publication, options?: Parameters<typeof publishForm>[1]): Promise<Answer>;
}

/** A project with one key for everything a publisher and a host do. */
export async function createProject(hub: Pick<RunningHub, "call">, scopes?: string[]): Promise<ProjectAccess> {
  const project = await hub.call("POST", "/devkeys/projects", {
    json: { name: "Demo", kind: "project", same_name: true },
  });
  const id = project.body.id as string;
  const issued = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "all", project_id: id, scopes: scopes ?? ["publish", "deploy", "report", "read"] },
  });
  const key = issued.body.key as string;
  return {
    id,
    key,
    keyId: issued.body.id,
    credential: issued.body.deployment_credential,
    async session() {
      const answer = await hub.call("POST", "/app/deploy/v1/auth", {
        key: null,
        json: { xdevkey: key, project_id: id },
      });
      return answer.body.access_token as string;
    },
    publish: (what, options) =>
      hub.call("POST", `/app/deploy/v1/projects/${id}/publish`, { key, form: publishForm(what, options) }),
  };
}

/** The body of every error answer, checked: exactly the three fields, and twice the same message. */
export function isErrorBody(t: Test, answer: Answer, status: number, code: string): void {
  t.equal(answer.status, status, `status of ${JSON.stringify(answer.body)}`);
  t.match(answer.headers.get("content-type") ?? "", /^application\/json/);
  t.equal(answer.body?.code, code, JSON.stringify(answer.body));
  t.equal(answer.body?.error, answer.body?.detail);
  t.type(answer.body?.error, "string");
  const allowed =
    code === "version_exists" ? ["code", "content_sha256", "detail", "error"] : ["code", "detail", "error"];
  t.strictSame(Object.keys((answer.body ?? {}) as object).sort(), allowed);
}

/** Names of the files in the hub's blob folder: blobs, uploads, trash. */
export async function storedFiles({ dataDir }: RunningHub): Promise<string[]> {
  const entries = await readdir(join(dataDir, "blobs"), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name !== "sealift-database").map(({ name }) => name);
}
