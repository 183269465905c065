import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ed25519 } from "@noble/curves/ed25519.js";
import t, { type Test } from "tap";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import { pagePaths } from "../../../lib/web/page/view.ts";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import {
  type Answer,
  createProject,
  isErrorBody,
  newSigner,
  publication,
  type RunningHub,
  type Signer,
  startHub,
  storedFiles,
} from "../../support/hub/harness.ts";
import { needs, programFile } from "../../support/programs/optional.ts";

const run = promisify(execFile);
const SECRET = "a developer's own secret";
const PLUGIN = "/app/marketplace/plugins/tide";
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const archiveOf = (version: string): Buffer => zipOf({ "plugin.yaml": `name: tide\nversion: ${version}\n` });

/** The fields of an author's signature over an archive. */
const signedBy = (signer: Signer, archive: Buffer): Record<string, string> => ({
  signature_ed25519: base64(signer.sign(archive)),
  signer_public_key: base64(signer.publicKey),
});

async function withPlugin(t: Test, hub?: RunningHub) {
  const running = hub ?? (await startHub(t, { rateLimits: false }));
  const created = await running.call("POST", "/devkeys/projects", {
    json: { name: "Tide", kind: "plugin", slug: "tide" },
  });
  const id = created.body.id as string;
  const publish = (
    version: string,
    fields: Record<string, string> = {},
    { archive = archiveOf(version), fileFirst = false } = {},
  ): Promise<Answer> => {
    const form = new FormData();
    const file = new Blob([new Uint8Array(archive)], { type: "application/zip" });
    if (fileFirst) form.set("archive", file, "archive.zip");
    for (const [name, value] of Object.entries({ version, signature: hmacOf(archive, SECRET), ...fields }))
      form.set(name, value);
    if (!fileFirst) form.set("archive", file, "archive.zip");
    return running.call("POST", `${PLUGIN}/versions`, { form });
  };
  return {
    hub: running,
    id,
    publish,
    sign: (version: string, json: Record<string, string>) =>
      running.call("PUT", `/devkeys/projects/${id}/versions/${version}/signature`, { json }),
    install: (version: string) => running.call("GET", `${PLUGIN}/install?version=${version}`),
    shown: async () =>
      (await running.call("GET", PLUGIN)).body.versions as { version: string; signer_public_key?: string }[],
    signer: (verb: string, { publicKey }: Signer) =>
      verb === "add"
        ? running.call("POST", `/devkeys/projects/${id}/signers`, { json: { public_key: publicKey.toString("hex") } })
        : running.call("POST", `/devkeys/projects/${id}/signers/${publicKey.toString("hex")}/${verb}`),
  };
}

t.test("an author's signature is verified, stored, and shown wherever a version is", async (t) => {
  const { hub, id, publish, install, shown } = await withPlugin(t);
  const author = newSigner();
  for (const [version, fileFirst] of [
    ["1.0.0", false],
    ["1.1.0", true],
  ] as const) {
    const fields = signedBy(author, archiveOf(version));
    const published = await publish(version, fields, { fileFirst });
    t.match(published, { status: 201, body: { signer_public_key: fields.signer_public_key } });
    const installed = await install(version);
    t.equal(installed.headers.get("x-signature-ed25519"), fields.signature_ed25519);
    t.equal(installed.headers.get("x-signer"), fields.signer_public_key);
    t.equal((await publish(version, fields)).status, 200, "the very same again");
  }
  t.equal((await publish("1.2.0")).status, 201);
  const unsigned = await install("1.2.0");
  t.notOk(unsigned.headers.has("x-signature-ed25519"));
  t.notOk(unsigned.headers.has("x-signer"));
  const key = base64(author.publicKey);
  const expected = [["1.2.0", undefined] as const, ["1.1.0", key] as const, ["1.0.0", key] as const];
  t.strictSame(
    (await shown()).map(({ version, signer_public_key: signer }) => [version, signer]),
    expected,
  );
  const page = (await hub.call("GET", pagePaths.target("plugin", "tide"), { key: null })).bytes.toString();
  t.equal(page.split(`Ed25519: ${author.publicKey.toString("hex")}`).length, 3, "two of three versions name it");
  const managed = (await hub.call("GET", `/devkeys/projects/${id}/versions`)).body.items as {
    signer_public_key: null;
  }[];
  t.strictSame(
    managed.map(({ signer_public_key: signer }) => signer),
    [null, key, key],
  );
  const log = (await hub.call("GET", "/devkeys/audit?action=version.publish")).body.items as { facts: object }[];
  t.match(log.at(-1), { facts: { version: "1.0.0", signer: key } });
  t.notMatch(log[0], { facts: { signer: /./ } });
});

t.test("a signature that does not fit publishes nothing", async (t) => {
  const { hub, publish } = await withPlugin(t);
  const author = newSigner();
  const fields = signedBy(author, archiveOf("1.0.0"));
  const wrong: Record<string, [fields: Record<string, string>, status: number, code: string]> = {
    "of other bytes": [signedBy(author, archiveOf("2.0.0")), 400, "signature_rejected"],
    "of another key": [{ ...fields, signer_public_key: base64(newSigner().publicKey) }, 400, "signature_rejected"],
    "of a key of low order": [{ ...fields, signer_public_key: base64(Buffer.alloc(32)) }, 400, "signature_rejected"],
    "without its key": [{ signature_ed25519: fields["signature_ed25519"]! }, 422, "unprocessable"],
    "that is a key alone": [{ signer_public_key: fields["signer_public_key"]! }, 422, "unprocessable"],
    "that is too short": [{ ...fields, signature_ed25519: base64(Buffer.alloc(63)) }, 422, "unprocessable"],
    "in hexadecimal": [{ ...fields, signature_ed25519: "ab".repeat(64) }, 422, "unprocessable"],
  };
  for (const [what, [given, status, code]] of Object.entries(wrong)) {
    for (const fileFirst of [false, true]) {
      const answer = await publish("1.0.0", given, { fileFirst });
      t.equal(answer.status, status, `a signature ${what}: ${answer.bytes.toString()}`);
      t.equal(answer.body.code, code, what);
    }
  }
  t.strictSame(await storedFiles(hub), []);
  t.equal((await publish("1.0.0", fields)).status, 201);
  const seed = Uint8Array.from(author.publicKey);
  const publicAsPrivate = {
    publicKey: Buffer.from(publicKeyOf(seed)),
    sign: (bytes: Uint8Array) => Buffer.from(ed25519.sign(bytes, seed)),
  };
  const answer = await publish("1.1.0", signedBy(publicAsPrivate, archiveOf("1.1.0")));
  isErrorBody(t, answer, 400, "signature_rejected");
});

t.test("a register holds for plugins, too: an upload is signed by one of its signers", async (t) => {
  const { publish, sign, signer, install } = await withPlugin(t);
  const [ci, stranger] = [newSigner(), newSigner()];
  t.equal((await publish("0.9.0")).status, 201, "without a register nobody has to sign");
  t.equal((await signer("add", ci)).status, 201);
  isErrorBody(t, await publish("1.0.0"), 403, "signer_refused");
  isErrorBody(t, await publish("1.0.0", signedBy(stranger, archiveOf("1.0.0"))), 403, "signer_refused");
  t.equal((await publish("1.0.0", signedBy(ci, archiveOf("1.0.0")))).status, 201);
  isErrorBody(t, await sign("0.9.0", signedBy(stranger, archiveOf("0.9.0"))), 403, "signer_refused");
  t.equal((await signer("retire", ci)).status, 200);
  isErrorBody(t, await publish("1.1.0", signedBy(ci, archiveOf("1.1.0"))), 403, "signer_refused");
  t.equal((await signer("revoke", ci)).status, 200);
  isErrorBody(t, await publish("1.1.0", signedBy(ci, archiveOf("1.1.0"))), 403, "signer_refused");
  t.equal((await install("1.0.0")).status, 200, "what was published stays");
});

t.test("a version without a signature gets one once, over its own bytes", async (t) => {
  const { hub, id, publish, sign, shown, install } = await withPlugin(t);
  const author = newSigner();
  await publish("1.0.0");
  await publish("2.0.0");
  const before = (await hub.call("GET", PLUGIN)).headers.get("etag");
  const fields = signedBy(author, archiveOf("1.0.0"));
  isErrorBody(t, await sign("1.0.0", signedBy(author, archiveOf("2.0.0"))), 400, "signature_rejected");
  isErrorBody(t, await sign("3.0.0", fields), 404, "not_found");
  isErrorBody(t, await sign("1.0.0", { signature_ed25519: fields["signature_ed25519"]! }), 422, "unprocessable");
  t.equal((await sign("1.0.0", fields)).status, 204);
  t.equal((await sign("1.0.0", fields)).status, 204, "the same again");
  isErrorBody(t, await sign("1.0.0", signedBy(newSigner(), archiveOf("1.0.0"))), 409, "conflict");
  t.equal((await install("1.0.0")).headers.get("x-signer"), fields["signer_public_key"]);
  t.equal((await shown())[1]!.signer_public_key, fields["signer_public_key"]);
  t.not((await hub.call("GET", PLUGIN)).headers.get("etag"), before, "the detail record is another one");
  const log = (await hub.call("GET", "/devkeys/audit?action=version.sign")).body.items as object[];
  t.match(log, [{ subject: "plugin/tide", facts: { version: "1.0.0", signer: fields["signer_public_key"] } }]);
  t.equal(log.length, 1);
  isErrorBody(t, await publish("2.0.0", signedBy(author, archiveOf("2.0.0"))), 409, "version_exists");

  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const path = `/devkeys/projects/${project.id}/versions/1.0.0/signature`;
  isErrorBody(t, await hub.call("PUT", path, { json: fields }), 422, "unprocessable");
  const other = await hub.call("POST", "/devkeys/api-keys", { json: { name: "x", owner: "bob", scopes: ["publish"] } });
  const foreign = `/devkeys/projects/${id}/versions/2.0.0/signature`;
  isErrorBody(t, await hub.call("PUT", foreign, { key: other.body.key as string, json: fields }), 404, "not_found");
});

t.test("the signature stays when lost bytes are published again", async (t) => {
  const dataDir = join(t.testdir(), "hub");
  const { hub, publish, install } = await withPlugin(t, await startHub(t, { dataDir }));
  const fields = signedBy(newSigner(), archiveOf("1.0.0"));
  await publish("1.0.0", fields);
  for (const id of await storedFiles(hub)) await rm(join(dataDir, "blobs", id.slice(-2), id));
  t.equal((await publish("1.0.0")).status, 201, "the bytes alone come again");
  const installed = await install("1.0.0");
  t.ok(installed.bytes.equals(archiveOf("1.0.0")));
  t.equal(installed.headers.get("x-signature-ed25519"), fields["signature_ed25519"]);
});

t.test("the vector of docs/contract/vectors.md", async (t) => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/contract/vectors.md"), "utf8");
  const [, signature, signer] = /X-Signature-Ed25519: (\S+)\nX-Signer: (\S+)\n/.exec(page)!;
  const archive = Buffer.concat([Buffer.from("504b0506", "hex"), Buffer.alloc(18)]);
  const seed = Uint8Array.from({ length: 32 }, (_, index) => index);
  t.equal(base64(ed25519.sign(archive, seed)), signature);
  t.equal(base64(publicKeyOf(seed)), signer);
});

t.test(
  "a program that was written from the page alone verifies what was published",
  { skip: needs("python3-cryptography") },
  async (t) => {
    const { hub, publish } = await withPlugin(t);
    const author = newSigner();
    await publish("1.0.0", signedBy(author, archiveOf("1.0.0")));
    const script = join(import.meta.dirname, "second-verifier.py");
    const { stdout } = await run(programFile("python3"), ["-B", script, hub.url, PLUGIN, "1.0.0"], {
      env: { ...process.env, API_KEY: hub.adminKey },
    });
    t.equal(stdout.trim(), author.publicKey.toString("hex"));
  },
);
