/** A hub for one project that can lie: it answers surface B properly until a route is told to misbehave. */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Test } from "tap";
import type { ForgedArtifact } from "../forged/artifact.ts";
import { makeCertificate } from "./certificate.ts";
import { type Answer, json, type ScriptedServer, startScripted } from "./scripted-server.ts";

export type Route = "auth" | "latest" | "location" | "authorize" | "report" | "publish" | "download" | "other";

export interface LyingHub extends ScriptedServer<Route> {
  /** The artifact that is served as the latest version. */
  artifact: ForgedArtifact;
  version: string;
}

const ROUTES: [RegExp, Exclude<Route, "other">][] = [
  [/\/v1\/auth$/, "auth"],
  [/\/versions\/latest$/, "latest"],
  [/\/artifacts\//, "location"],
  [/\/deployments\/authorize$/, "authorize"],
  [/\/deployments\/report$/, "report"],
  [/\/publish$/, "publish"],
  [/^\/download/, "download"],
];

/** The artifact's bytes as an honest server gives them: Range, If-Range, ETag. */
export function honestBytes(bytes: Buffer, etag: string | null = '"one"'): Answer {
  return (response, { headers }) => {
    const from = /^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1];
    const same = headers["if-range"] === undefined || headers["if-range"] === etag;
    const start = from !== undefined && same ? Number(from) : 0;
    const part = bytes.subarray(start);
    response.writeHead(start > 0 ? 206 : 200, {
      ...(etag !== null && { etag }),
      "content-type": "application/octet-stream",
      "content-length": part.length,
      ...(start > 0 && { "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
    });
    response.end(part);
  };
}

export interface LyingHubOptions {
  artifact: ForgedArtifact;
  version?: string;
  tls?: { key: string; cert: string };
}

export async function startLyingHub(t: Test, { artifact, version = "1.0.0", tls }: LyingHubOptions): Promise<LyingHub> {
  const truth = (route: Route): Answer => {
    const base64 = (bytes: Buffer) => bytes.toString("base64");
    const { signature, publicKey, dek, file } = hub.artifact;
    switch (route) {
      case "auth":
        return json(200, { access_token: "session-token" });
      case "latest":
        return json(200, { version: hub.version });
      case "location":
        return json(200, {
          download_url: `${hub.url}/download?signed=yes`,
          signature: base64(signature),
          signer_public_key: base64(publicKey),
        });
      case "authorize":
        return json(200, { dek: base64(dek) });
      case "report":
        return json(200, { deployment_id: "recorded" });
      case "publish":
        return json(201, {
          artifact_id: "art_1",
          project_id: "prj_0123456789abcdef",
          version: "1.0.0",
          content_sha256: "0".repeat(64),
          size_bytes: file.length,
          created_at: "2026-01-01T00:00:00Z",
        });
      case "download":
        return honestBytes(file);
      case "other":
        return json(404, { error: "no such route" });
    }
  };
  const server = await startScripted(t, { routes: ROUTES, truth, ...(tls !== undefined && { tls }) });
  const hub: LyingHub = Object.assign(server, { artifact, version });
  return hub;
}

/** A certificate for 127.0.0.1 that this process trusts from now on. */
export function trustedCertificate(): { key: string; cert: string } {
  const made = makeCertificate();
  setDefaultCACertificates([...getCACertificates("default"), made.cert]);
  return made;
}
