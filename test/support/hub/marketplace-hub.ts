/**
 * A hub of surface A that can lie: it answers properly until a route is told to misbehave, and signs whatever bytes it
 * is given.
 */
import { createHmac } from "node:crypto";
import type { Test } from "tap";
import { type Answer, json, type ScriptedServer, startScripted } from "./scripted-server.ts";

export type MarketplaceRoute = "detail" | "install" | "report" | "hosts" | "other";

export interface ServedVersion {
  version: string;
  bytes: Buffer;
  /** Headers instead of the true ones; null leaves one out. */
  headers?: Record<string, string | null>;
}

export interface MarketplaceHub extends ScriptedServer<MarketplaceRoute> {
  /** The version that is installed, and that the detail route calls the latest. */
  release: ServedVersion;
  /** The record's name, which is not the slug. */
  name: string;
}

export const MARKETPLACE_KEY = "slk_the-api-key-of-the-operator";
export const DEVELOPER_SECRET = "the developer's own signing secret";

export const signatureOf = (bytes: Uint8Array, secret = DEVELOPER_SECRET): string =>
  `hmac_sha256:${createHmac("sha256", secret).update(bytes).digest("hex")}`;

const ROUTES: [RegExp, Exclude<MarketplaceRoute, "other">][] = [
  [/^\/app\/(marketplace\/plugins|services\/services)\/[^/]+$/, "detail"],
  [/^\/app\/(marketplace\/plugins|services\/services)\/[^/]+\/install$/, "install"],
  [/^\/app\/deployments\/deployments\/report$/, "report"],
  [/\/hosts$/, "hosts"],
];

/** The artifact as an honest hub sends it. */
export function honestInstall({ version, bytes, headers = {} }: ServedVersion): Answer {
  return (response, { path }) => {
    const [, mount, , slug] = /^\/app\/(marketplace|services)\/(plugins|services)\/([^/]+)\//.exec(path) ?? [];
    const named = mount === "services" ? "x-service" : "x-plugin";
    const sent: Record<string, string | number | null> = {
      "content-type": "application/zip",
      "content-length": bytes.length,
      "x-signature": signatureOf(bytes),
      [named]: `${slug}@${version}`,
      "x-repo": `acme/${slug}@v${version}`,
      ...headers,
    };
    for (const [name, value] of Object.entries(sent)) if (value !== null) response.setHeader(name, value);
    response.end(bytes);
  };
}

export async function startMarketplaceHub(t: Test, release: ServedVersion): Promise<MarketplaceHub> {
  const truth = (route: MarketplaceRoute): Answer => {
    switch (route) {
      case "detail":
        return json(200, { name: hub.name, latest_version: hub.release.version });
      case "install":
        return honestInstall(hub.release);
      case "report":
        return json(201, { id: "recorded" });
      case "hosts":
        return json(200, {});
      case "other":
        return json(404, { error: "no such route" });
    }
  };
  const server = await startScripted(t, { routes: ROUTES, truth });
  const hub: MarketplaceHub = Object.assign(server, { release, name: "The Tide Table" });
  return hub;
}
