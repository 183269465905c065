import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { newAuthor } from "../../support/host/author.ts";
import { SLUG } from "../../support/host/marketplace-host.ts";
import { pluginHost } from "../../support/host/plugin-host.ts";
import { isErrorBody, startHub, storedFiles } from "../../support/hub/harness.ts";
import { fetchingFrom } from "../../support/hub/import.ts";
import { DEVELOPER_SECRET } from "../../support/hub/marketplace-hub.ts";

const zipOf = (content: string) => forgedZip([descriptorEntry(SLUG, "1.0.0"), { name: "src/main.js", content }]);
const PLUGIN = `/app/marketplace/plugins/${SLUG}`;

t.test("an import whose tag moves at the source stays what its author has signed", async (t) => {
  let archive = zipOf("signed\n");
  const source = createServer((_request, response) => response.end(archive)).listen(0, "127.0.0.1");
  await new Promise((resolve) => source.once("listening", resolve));
  t.teardown(() => void source.close());
  const origin = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
  const hub = await startHub(t, fetchingFrom(origin));
  const created = await hub.call("POST", "/devkeys/projects", { json: { name: "T", kind: "plugin", slug: SLUG } });
  await hub.call("POST", "/devkeys/signing-key", { json: { secret: DEVELOPER_SECRET } });
  const bring = () => hub.call("POST", `${PLUGIN}/import`, { json: { version: "1.0.0", repo: "acme/tide@v1.0.0" } });
  const author = newAuthor();
  const sign = (bytes: Buffer) => {
    const { "x-signature-ed25519": signature_ed25519, "x-signer": signer_public_key } = author.headers(bytes);
    const json = { signature_ed25519, signer_public_key };
    return hub.call("PUT", `/devkeys/projects/${created.body.id}/versions/1.0.0/signature`, { json });
  };
  t.equal((await bring()).status, 201);
  const signed = archive;

  archive = zipOf("moved\n");
  isErrorBody(t, await sign(archive), 400, "signature_rejected");
  t.equal((await sign(signed)).status, 204);
  isErrorBody(t, await bring(), 409, "version_exists");
  const host = await pluginHost(t, {
    ...{ hubUrl: hub.url, apiKey: hub.adminKey, trust: { pinned: [author.publicKey] } },
  });
  t.equal((await host.deploy("1.0.0")).outcome, "deployed");
  t.equal(readFileSync(join(host.root, "plugins", SLUG, "src/main.js"), "utf8"), "signed\n");

  for (const id of await storedFiles(hub)) await rm(join(hub.dataDir, "blobs", id.slice(-2), id));
  isErrorBody(t, await bring(), 409, "version_exists");
  archive = signed;
  t.equal((await bring()).status, 201, "only the same bytes come back, with their signature");
  t.ok((await hub.call("GET", `${PLUGIN}/install`)).headers.has("x-signature-ed25519"));
});
