/** A workflow of a CI system that a hub trusts to publish to a target. */
import { randomUUID } from "node:crypto";
import type { JWTPayload } from "jose";
import type { Test } from "tap";
import type { PublisherRequest } from "../../../lib/contract/publishers/publishers.ts";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import { zipOf } from "./archives.ts";
import { AT, type FeatureFill, HOSTILE } from "./filling.ts";
import { type Answer, type RunningHub, startHub } from "./harness.ts";
import { type Issuer, startIssuer } from "./issuer.ts";
import { signatureOf } from "./marketplace-hub.ts";

export interface Workflow {
  hub: RunningHub;
  issuer: Issuer;
  /** The claims of its runs. */
  claims: JWTPayload;
  /** Adds a publisher for a target, or for one that it creates. @param key the administrator's by default */
  trust: (request: Partial<PublisherRequest>, key?: string) => Promise<Answer>;
  /** Returns the token of a new run, with some claims of its own. */
  run: (changes?: Record<string, unknown>) => Promise<string>;
  exchange: (target: string, token: string, hub?: RunningHub) => Promise<Answer>;
}

/** The form of a plugin's version. */
export function publicationForm(version: string): FormData {
  const archive = zipOf({ "plugin.yaml": `name: tide\nversion: ${version}\nexecution_mode: trusted\n` });
  const form = new FormData();
  form.set("version", version);
  form.set("signature", signatureOf(archive));
  form.set("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "archive.zip");
  return form;
}

export const AUDIENCE = "https://hub.example.org";
const CLAIMS = {
  repository_id: "41",
  repository_owner_id: "7",
  workflow_ref: "acme/tide/.github/workflows/release.yml@refs/heads/main",
};

/** Starts an issuer, and a hub that may ask it unless one is given. The hub trusts nobody yet. */
export async function startWorkflow(
  t: Test,
  { hub: running, ...options }: Partial<HubOptions> & { hub?: RunningHub } = {},
): Promise<Workflow> {
  const issuer = await startIssuer(t);
  const hub = running ?? (await startHub(t, { issuerAllow: ["127.0.0.1"], ...options }));
  const claims = { ...CLAIMS, sub: "repo:acme/tide:ref:refs/heads/main", run_id: "1001" };
  return {
    ...{ hub, issuer, claims },
    trust: (request, key) =>
      hub.call("POST", "/devkeys/publishers", {
        ...(key !== undefined && { key }),
        json: { name: "release", issuer: issuer.url, audience: AUDIENCE, claims: CLAIMS, ...request },
      }),
    run(changes = {}) {
      const now = Math.floor(Date.now() / 1000);
      const times = { iat: now, nbf: now, exp: now + 300 };
      return issuer.sign({
        iss: issuer.url,
        aud: AUDIENCE,
        jti: randomUUID(),
        ...times,
        ...claims,
        ...changes,
      });
    },
    exchange: (target, token, at = hub) => at.call("POST", "/devkeys/exchange", { key: null, json: { target, token } }),
  };
}

/** Fills a publisher that is pending, and one whose target is there. */
export const publisherFill: FeatureFill = {
  options: { issuerAllow: ["127.0.0.1"] },
  byHand: { publishers: { last_used_at: AT } },
  async fill({ t, hub, done, project }) {
    const { issuer, trust, run } = await startWorkflow(t, { hub });
    await trust({ target: `project:${project.id}` });
    await done("POST", "/devkeys/exchange", {
      key: null,
      json: { target: `project:${project.id}`, token: await run() },
    });
    const name = HOSTILE.replace(/\u2028/g, "");
    const json = { name, issuer: issuer.url, audience: name, claims: { [name]: name } };
    await done("POST", "/devkeys/publishers", { json: { ...json, creates: { kind: "plugin", slug: "new", name } } });
    await done("POST", "/devkeys/publishers", { json: { ...json, target: `project:${project.id}` } });
  },
  pages: () => ({ publishers: "/publishers" }),
  rights: () => ({ "/publishers": "/devkeys/publishers" }),
  lists: () => ({ "publisher list": ["publisher list", false] }),
};
