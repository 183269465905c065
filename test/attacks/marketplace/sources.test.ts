// Only in test:all: each of its archives is published, and refused by a host, 12 s of a processor.
/** Plugins that a project only names, fetched while it is deployed (docs/contract/project-artifact.md). */
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { planText, projectTar, treeDigest } from "../../support/forged/artifact.ts";
import { type ForgedEntry, forgedZip, LINK } from "../../support/forged/zip.ts";
import { type AttackedHost, attackedHost } from "../../support/host/attacked-host.ts";
import { type Author, newAuthor } from "../../support/host/author.ts";
import { SLUG } from "../../support/host/marketplace-host.ts";
import { DEVELOPER_SECRET } from "../../support/hub/marketplace-hub.ts";
import { publishZip } from "../../support/hub/marketplace-publication.ts";

const FILES = { "plugin.yaml": `name: ${SLUG}\nversion: 1.0.0\n`, "src/main.js": "export default 1;\n" };
const ENTRIES: ForgedEntry[] = Object.entries(FILES).map(([name, content]) => ({ name: `top/${name}`, content }));
const DIGEST = treeDigest(new Map(Object.entries(FILES)));
const SECRETS = { sources: { signingSecret: DEVELOPER_SECRET, gitTokens: new Map() } };

/** A source host that serves one archive, and counts who asks. */
async function sourceHost(t: Test): Promise<{ url: string; archive: Buffer; asked: number; server: Server }> {
  const host = { url: "", archive: forgedZip(ENTRIES), asked: 0, server: createServer() };
  host.server.on("request", (_request, response) => {
    host.asked++;
    response.end(host.archive);
  });
  await new Promise<void>((resolve) => host.server.listen(0, "127.0.0.1", resolve));
  host.url = `http://127.0.0.1:${(host.server.address() as AddressInfo).port}/acme/${SLUG}.git`;
  t.teardown(() => {
    host.server.closeAllConnections();
    host.server.close();
  });
  return host;
}

const fromGit = (url: string, changes: object = {}) => ({ url, ref: "v1.0.0", ...changes });
const fromMarketplace = (changes: object = {}) => ({
  marketplace_slug: SLUG,
  marketplace_version: "1.0.0",
  ...changes,
});

/** A project of one embedded plugin and one that it names. */
function naming(host: AttackedHost, source: object, sha256: string | null = DIGEST) {
  const none = { marketplace_slug: null, marketplace_version: "latest", marketplace_kind: "plugin" };
  const entry = {
    id: SLUG,
    version: "1.0.0",
    sha256,
    environment: null,
    source: { ...none, url: null, ref: null, subdirectory: null, ...source },
  };
  const steps = ["demo", SLUG].map((id) => `  - {id: ${id}, action: install_plugin, plugin: ${id}}\n`).join("");
  return {
    files: {
      "deployment/install.yaml": planText(host.project.id, steps),
      "plugins/demo/plugin.yaml": "name: demo\nversion: 1.0.0\n",
    },
    manifest: (manifest: Record<string, unknown>) => ({
      ...manifest,
      plugins: [...(manifest["plugins"] as object[]), entry],
    }),
  };
}

t.test("a proper source is fetched and installed, so that the others fail for their own reason", async (t) => {
  const host = await attackedHost(t);
  const git = await sourceHost(t);
  const version = host.nextVersion();
  await host.publish(version, host.seal(projectTar(host.describe(version, naming(host, fromGit(git.url))))));
  const result = await host.deploy(version, { source: SECRETS });
  t.match(result, { outcome: "deployed" }, result.error?.message ?? "installed");
  t.equal(readFileSync(join(host.root, "plugins", SLUG, "src/main.js"), "utf8"), FILES["src/main.js"]);
});

t.test("a source that is not pinned is refused before it is fetched", async (t) => {
  const host = await attackedHost(t);
  const git = await sourceHost(t);
  for (const source of [fromGit(git.url), fromMarketplace()])
    await host.refusesProject(t, naming(host, source, null), { code: "source_unpinned" }, { source: SECRETS });
  t.equal(git.asked, 0);
});

t.test("a source whose tree has another digest is refused", async (t) => {
  const host = await attackedHost(t);
  const git = await sourceHost(t);
  const refusal = { code: "plugin_digest_mismatch" } as const;
  const changed: Record<string, ForgedEntry[]> = {
    "a changed file": [ENTRIES[0]!, { ...ENTRIES[1]!, content: "export default 2;\n" }],
    "a missing file": [ENTRIES[0]!],
    "a file more": [...ENTRIES, { name: "top/extra.js", content: "" }],
    "another name": [ENTRIES[0]!, { ...ENTRIES[1]!, name: "top/src/other.js" }],
    "no flattening": [...ENTRIES, { name: "beside.txt", content: "" }],
  };
  for (const [what, entries] of Object.entries(changed)) {
    git.archive = forgedZip(entries);
    await t.test(what, (t) => host.refusesProject(t, naming(host, fromGit(git.url)), refusal, { source: SECRETS }));
  }
  git.archive = forgedZip(ENTRIES);
  const missing = naming(host, fromGit(git.url, { subdirectory: "not/there" }));
  await host.refusesProject(t, missing, refusal, { source: SECRETS });
  await host.refusesProject(t, naming(host, fromGit(git.url), "0".repeat(64)), refusal, { source: SECRETS });
});

t.test("a link anywhere in a fetched tree is refused, because the digest does not see it", async (t) => {
  const host = await attackedHost(t);
  const git = await sourceHost(t);
  for (const name of ["top/alias.js", "top/src/alias.js", "alias"]) {
    git.archive = forgedZip([...ENTRIES, { name, content: "/etc/passwd", mode: LINK }]);
    await host.refusesProject(t, naming(host, fromGit(git.url)), { code: "member_type" }, { source: SECRETS });
  }
});

t.test("a source's archive passes the same gate as any other", async (t) => {
  const host = await attackedHost(t);
  const git = await sourceHost(t);
  git.archive = forgedZip([...ENTRIES, { name: "top/../../planted", content: "x" }]);
  await host.refusesProject(t, naming(host, fromGit(git.url)), { code: "member_unsafe" }, { source: SECRETS });
  git.archive = Buffer.from("<!doctype html>Sign in");
  await host.refusesProject(t, naming(host, fromGit(git.url)), { code: "zip_invalid" }, { source: SECRETS });
});

t.test("a folder of the source that leads out of it is refused", async (t) => {
  const host = await attackedHost(t);
  const git = await sourceHost(t);
  for (const subdirectory of ["../../..", "/etc", "src/../../..", ".."]) {
    const source = fromGit(git.url, { subdirectory });
    await host.refusesProject(
      t,
      naming(host, source),
      { code: /member_unsafe|manifest_invalid/ as never },
      {
        source: SECRETS,
      },
    );
  }
});

t.test("from the marketplace, the developer's secret is needed and decides", async (t) => {
  const host = await attackedHost(t);
  await host.hub.call("POST", "/devkeys/projects", { json: { name: "Tides", kind: "plugin", slug: SLUG } });
  const published = await publishZip({ hub: host.hub, next: 0 }, forgedZip(ENTRIES));
  t.equal(published.status, 201);
  const named = naming(host, fromMarketplace());
  const without = { source: { sources: { gitTokens: new Map() } } };
  await host.refusesProject(t, named, { code: "usage", kind: "UsageError", exitCode: 2 }, without);
  const wrong = { source: { sources: { signingSecret: "another", gitTokens: new Map() } } };
  await host.refusesProject(t, named, { code: "signature_invalid" }, wrong);
  const changed = naming(host, fromMarketplace(), "0".repeat(64));
  await host.refusesProject(t, changed, { code: "plugin_digest_mismatch" }, { source: SECRETS });
  t.notOk(existsSync(join(host.root, "plugins", SLUG)));
});

t.test("from the marketplace, an author that the manifest demands must have signed it", async (t) => {
  const host = await attackedHost(t);
  const created = await host.hub.call("POST", "/devkeys/projects", {
    json: { name: "Tides", kind: "plugin", slug: SLUG },
  });
  const archive = forgedZip(ENTRIES);
  t.equal((await publishZip({ hub: host.hub, next: 0 }, archive)).status, 201);
  const [author, stranger] = [newAuthor(), newAuthor()];
  const demanding = (who: Author) => {
    return naming(host, fromMarketplace({ signer_public_keys: [who.publicKey.toString("hex")] }));
  };
  await host.refusesProject(t, demanding(author), { code: "signature_missing" }, { source: SECRETS });
  const { "x-signature-ed25519": signature_ed25519, "x-signer": signer_public_key } = author.headers(archive);
  const signed = await host.hub.call("PUT", `/devkeys/projects/${created.body.id}/versions/1.0.0/signature`, {
    json: { signature_ed25519, signer_public_key },
  });
  t.equal(signed.status, 204);
  await host.refusesProject(t, demanding(stranger), { code: "signer_untrusted" }, { source: SECRETS });
  const version = host.nextVersion();
  await host.publish(version, host.seal(projectTar(host.describe(version, demanding(author)))));
  const result = await host.deploy(version, { source: SECRETS });
  t.equal(result.outcome, "deployed", result.error?.message ?? "installed");
});
