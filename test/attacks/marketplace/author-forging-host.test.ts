/**
 * A host that was broken into: it knows the signing secret, as every host does, and stands as a mirror, and as a proxy
 * of the hub, between the hub and the other hosts.
 */
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { base64, newAuthor } from "../../support/host/author.ts";
import { SLUG } from "../../support/host/marketplace-host.ts";
import { pluginHost } from "../../support/host/plugin-host.ts";
import { type RunningHub, sha256, startHub } from "../../support/hub/harness.ts";
import { signatureOf } from "../../support/hub/marketplace-hub.ts";

const zipOf = (content: string) => forgedZip([descriptorEntry(SLUG, "1.0.0"), { name: "src/main.js", content }]);
const TRUE = zipOf("the author's\n");
const FORGED = zipOf("whatever\n");
const author = newAuthor();
const forger = newAuthor();

async function publishedHub(t: Test): Promise<RunningHub> {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tides", kind: "plugin", slug: SLUG } });
  const form = new FormData();
  const signed = author.headers(TRUE);
  form.set("version", "1.0.0");
  form.set("signature", signatureOf(TRUE));
  form.set("signature_ed25519", signed["x-signature-ed25519"]!);
  form.set("signer_public_key", signed["x-signer"]!);
  form.set("archive", new Blob([new Uint8Array(TRUE)], { type: "application/zip" }), "archive.zip");
  const { status } = await hub.call("POST", `/app/marketplace/plugins/${SLUG}/versions`, { form });
  t.equal(status, 201);
  return hub;
}

/** Passes everything on, but for the ZIP, whose bytes and headers it makes itself. */
async function startForger(t: Test, hubUrl: string, headers: Record<string, string | null>): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const key = request.headers["x-api-key"];
      const answer = await fetch(hubUrl + request.url!, {
        method: request.method!,
        headers: typeof key === "string" ? { "x-api-key": key } : {},
      });
      const isZip = /\/(install|downloads)\b/.test(request.url!);
      let body: Buffer = Buffer.from(await answer.arrayBuffer());
      if (isZip) body = FORGED;
      else body = Buffer.from(body.toString().replaceAll(sha256(TRUE), sha256(FORGED)));
      const sent = Object.fromEntries([...answer.headers].filter(([name]) => !/^(content|etag|x-sealift)/.test(name)));
      const lies = isZip ? { ...sent, "x-signature": signatureOf(FORGED), ...headers } : sent;
      for (const [name, value] of Object.entries(lies)) if (value !== null) response.setHeader(name, value);
      response.writeHead(answer.status, { "content-length": body.length }).end(body);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const mainOf = (root: string): string => readFileSync(join(root, "plugins", SLUG, "src/main.js"), "utf8");

t.test("it cannot make another host install its ZIP, where the author's key is pinned", async (t) => {
  const hub = await publishedHub(t);
  const dropped = { "x-signature-ed25519": null, "x-signer": null };
  const lies: Record<string, [headers: Record<string, string | null>, code: string]> = {
    "the author's own signature": [{}, "signature_invalid"],
    "no signature": [dropped, "signature_missing"],
    "a signature of its own": [forger.headers(FORGED), "signer_untrusted"],
    "a signature of its own, in the author's name": [
      { ...forger.headers(FORGED), "x-signer": base64(author.publicKey) },
      "signature_invalid",
    ],
  };
  for (const [what, [headers, code]] of Object.entries(lies)) {
    const hubUrl = await startForger(t, hub.url, headers);
    const fooled = await pluginHost(t, { hubUrl, apiKey: hub.adminKey });
    t.equal((await fooled.deploy("1.0.0")).outcome, "deployed", `${what}: the HMAC alone is fooled`);
    t.equal(mainOf(fooled.root), "whatever\n");
    const host = await pluginHost(t, { hubUrl, apiKey: hub.adminKey, trust: { pinned: [author.publicKey] } });
    const { outcome, error } = await host.deploy("1.0.0");
    t.match({ outcome, code: error?.code, exitCode: error?.exitCode }, { outcome: "failed", code, exitCode: 4 }, what);
    t.notOk(existsSync(join(host.root, "plugins", SLUG)), `${what}: nothing is installed`);
  }
});

t.test("as a mirror alone it is left for the hub in the same run", async (t) => {
  const hub = await publishedHub(t);
  const mirror = await startForger(t, hub.url, {});
  const host = await pluginHost(t, {
    ...{ hubUrl: hub.url, apiKey: hub.adminKey, mirrors: [mirror], trust: { pinned: [author.publicKey] } },
  });
  t.equal((await host.deploy("1.0.0")).outcome, "deployed");
  t.equal(mainOf(host.root), "the author's\n");
});
