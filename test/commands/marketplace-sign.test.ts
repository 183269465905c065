import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { PluginPublish } from "../../commands/plugins/plugin-publish.ts";
import { MarketplacePublish } from "../../commands/publishing/marketplace.ts";
import { MarketplaceSign } from "../../commands/publishing/marketplace-sign.ts";
import { SignerCreate } from "../../commands/publishing/signer-create.ts";
import { parsePublicKey } from "../../lib/artifact/signatures/key-files.ts";
import { zipOf } from "../support/hub/archives.ts";
import { sha256, startHub } from "../support/hub/harness.ts";
import { fetchingFrom } from "../support/hub/import.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const COMMANDS = [SignerCreate, MarketplacePublish, MarketplaceSign, PluginPublish];

async function withPlugin(t: Test, options: Parameters<typeof startHub>[1] = {}) {
  const folder = temporaryFolder(t);
  process.env["XDG_CONFIG_HOME"] = folder;
  const hub = await startHub(t, { rateLimits: false, ...options });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  Object.assign(process.env, {
    ...{ SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey, SEALIFT_SIGNING_SECRET: "the developer's own" },
  });
  const keys = join(folder, "keys");
  const sealift = (...words: string[]) => runHere(COMMANDS, words);
  t.equal((await sealift("signer", "create", "--out", keys)).code, 0);
  const author = parsePublicKey(await readFile(join(keys, "signer.pub")), "signer.pub");
  const archive = join(folder, "tide.zip");
  return {
    ...{ hub, folder, sealift, keys: join(keys, "signer.key"), author: Buffer.from(author), archive },
    write: async (version: string) => {
      const bytes = zipOf({ "plugin.yaml": `name: tide\nversion: ${version}\n` });
      await writeFile(archive, bytes);
      return bytes;
    },
    signerOf: async (version: string) =>
      (await hub.call("GET", `/app/marketplace/plugins/tide/install?version=${version}`)).headers.get("x-signer"),
  };
}

t.test("a version is published with its author's signature where a key is given", async (t) => {
  const { sealift, keys, author, archive, write, signerOf } = await withPlugin(t);
  await write("1.0.0");
  const words = ["marketplace", "publish", "tide", "--archive", archive, "--version"];
  const signed = await sealift(...words, "1.0.0", "--signing-key-file", keys);
  t.match(signed, { code: 0, stderr: "" });
  t.match(signed.stdout, `, signed by ${author.toString("hex").slice(0, 16)}\n`);
  t.equal(await signerOf("1.0.0"), author.toString("base64"));
  await write("1.1.0");
  const unsigned = await sealift(...words, "1.1.0");
  t.equal(unsigned.code, 0);
  t.notMatch(unsigned.stdout, "signed");
  t.equal(await signerOf("1.1.0"), null, "none without a key");
  t.match(await sealift(...words, "1.1.0"), { code: 0, stdout: /^unchanged: tide 1\.1\.0 \(/ }, "the very same again");
  t.match(JSON.parse((await sealift(...words, "1.1.0", "--json")).stdout), { unchanged: true });
});

t.test("plugin publish signs once a key is configured", async (t) => {
  const { folder, sealift, keys, author, signerOf } = await withPlugin(t);
  const plugin = join(folder, "plugin");
  await mkdir(plugin);
  await writeFile(join(plugin, "plugin.yaml"), "name: tide\nversion: 2.0.0\nentry_point: index.js\n");
  await writeFile(join(plugin, "index.js"), "export default 1;\n");
  process.env["SEALIFT_SIGNING_KEY_FILE"] = keys;
  t.teardown(() => delete process.env["SEALIFT_SIGNING_KEY_FILE"]);
  const published = await sealift("plugin", "publish", plugin);
  t.equal(published.code, 0, published.stderr);
  t.match(published.stdout, `, signed by ${author.toString("hex").slice(0, 16)}\n`);
  t.equal(await signerOf("2.0.0"), author.toString("base64"));
});

t.test("an import is nobody's signature, also where a key is given", async (t) => {
  const source = createServer((_request, response) =>
    response.end(zipOf({ "plugin.yaml": "name: tide\nversion: 3\n" })),
  );
  source.listen(0, "127.0.0.1");
  await once(source, "listening");
  t.teardown(() => void source.close());
  const origin = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
  const { hub, sealift, keys, signerOf } = await withPlugin(t, fetchingFrom(origin));
  await hub.call("POST", "/devkeys/signing-key", { json: { secret: "the developer's own" } });
  const words = ["marketplace", "publish", "tide", "--version", "3", "--import", "--repo", "acme/tide@v3"];
  t.match(await sealift(...words, "--signing-key-file", keys), {
    ...{ code: 0, stdout: /^published tide 3 \([^)]*\)\n$/, stderr: /not signed by you.*marketplace sign tide 3/ },
  });
  t.equal(await signerOf("3"), null);
});

t.test("marketplace sign shows what it signs, and signs nothing else", async (t) => {
  const { sealift, keys, author, archive, write, signerOf } = await withPlugin(t);
  const bytes = await write("1.0.0");
  await sealift("marketplace", "publish", "tide", "--archive", archive, "--version", "1.0.0", "--repo", "acme/tide@v1");
  const digest = sha256(bytes);
  const sign = (...words: string[]) => sealift("marketplace", "sign", "tide", "1.0.0", ...words);
  const looked = await sign("--dry-run");
  t.equal(looked.code, 0);
  t.match(looked.stderr, `tide 1.0.0: sha256 ${digest}, `);
  t.match(looked.stderr, "from acme/tide@v1");
  const other = await sign("--signing-key-file", keys, "--sha256", "0".repeat(64));
  t.equal(other.code, 4);
  t.match(other.stderr, /error \(digest_mismatch\).*Nothing was signed/s);
  t.equal((await sign("--signing-key-file", join(keys, "../signer.pub"))).code, 2);
  t.equal((await sign()).code, 2, "a key is needed");
  t.equal(await signerOf("1.0.0"), null);
  const signed = await sign("--signing-key-file", keys, "--sha256", digest);
  t.equal(signed.code, 0, signed.stderr);
  t.match(signed.stderr, `is signed by ${author.toString("hex")}.`);
  t.equal(await signerOf("1.0.0"), author.toString("base64"));
});
