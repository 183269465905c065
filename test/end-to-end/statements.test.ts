// Only in test:all: an author's statements by the real programs, 6 s of a processor.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import t from "tap";
import { publicKeyOf } from "../../lib/artifact/signatures/ed25519.ts";
import type { StatementRecord } from "../../lib/contract/statements/statements.ts";
import { plant } from "../support/host/project-root.ts";
import { createProject, sha256, startHub } from "../support/hub/harness.ts";
import { startSigstore } from "../support/hub/sigstore.ts";
import { billOf } from "../support/hub/statements.ts";
import { builtProgram } from "../support/programs/command-line.ts";
import { needs, programFile } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const run = promisify(execFile);

/** Verifies a stored bundle, and the endorsement of each statement, from docs/contract/statements.md alone. */
const VERIFIER = `
import base64, json, sys
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
listed, bundle, target = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), sys.argv[3]
def pae(kind, payload):
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
envelope = bundle["dsseEnvelope"]
payload = base64.b64decode(envelope["payload"])
leaf = x509.load_der_x509_certificate(base64.b64decode(bundle["verificationMaterial"]["certificate"]["rawBytes"]))
signature = base64.b64decode(envelope["signatures"][0]["sig"])
leaf.public_key().verify(signature, pae(envelope["payloadType"].encode(), payload), ec.ECDSA(hashes.SHA256()))
assert json.loads(payload)["subject"][0]["digest"]["sha256"] == listed["content_sha256"]
for one in listed["statements"]:
    facts = {"target": target, "version": listed["version"], "artifact_sha256": listed["artifact_sha256"],
             "content_sha256": listed["content_sha256"], "kind": one["kind"], "sha256": one["sha256"]}
    text = json.dumps(facts, separators=(",", ":")).encode()
    key = ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(one["signer_public_key"]))
    key.verify(base64.b64decode(one["signature"]), pae(b"application/vnd.sealift.statement+json", text))
print(len(listed["statements"]), "verified")
`;

t.test(
  "what the publisher states is stored so that others verify it without Sealift",
  { skip: needs("python3-cryptography") },
  async (t) => {
    const hub = await startHub(t, { rateLimits: false });
    const folder = temporaryFolder(t);
    const { id, key } = await createProject(hub);
    const seed = randomBytes(32);
    const plan = `format_version: "1"\nproject_id: ${id}\nversion: 1.0.0\nsteps:\n  - {id: install, action: install_plugin, plugin: tide}\n`;
    await plant(folder, {
      "tree/deployment/install.yaml": plan,
      "tree/plugins/tide/plugin.yaml": "name: tide\nversion: 1.0.0\nexecution_mode: trusted\n",
      "signer.key": seed.toString("hex"),
    });
    const sealift = (...words: string[]) =>
      builtProgram(words, {
        cwd: folder,
        env: { SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: key, XDG_CONFIG_HOME: folder },
      });
    const publishing = ["project", "publish", join(folder, "tree"), "--project-id", id, "--version", "1.0.0"];
    const dry = await sealift(...publishing, "--dry-run", "--json");
    const { content_sha256: tree } = JSON.parse(dry.stdout.trim().split("\n").at(-1)!) as { content_sha256: string };

    const [provenance, sbom] = [join(folder, "provenance.json"), join(folder, "bom.json")];
    await writeFile(provenance, JSON.stringify(await (await startSigstore()).attest({ subjects: [tree] })));
    const purl = "pkg:npm/lodash@4.17.20";
    await writeFile(sbom, billOf([{ name: "lodash", version: "4.17.20", purl }]));
    const stated = ["--provenance", provenance, "--sbom", sbom, "--urgent", "CVE-2026-1"];
    const signed = ["--signing-key-file", join(folder, "signer.key")];
    const kept = join(folder, "kept.xdeploy");
    const published = await sealift(...publishing, ...signed, ...stated, "--out", kept);
    t.equal(published.code, 0, published.stderr);
    const again = await sealift(...publishing, ...signed, ...stated);
    t.match(again, { code: 0, stdout: /^unchanged/ }, "a job may run again");
    const broken = await sealift(...publishing.toSpliced(-1, 1, "2.0.0"), ...signed, "--sbom", provenance);
    t.match(broken, { code: 4, stderr: /statement_invalid/ });
    t.equal((await hub.call("GET", `/devkeys/projects/${id}/versions`)).body.items.length, 1, "and nothing came of it");

    const versions = await sealift("version", "list", id);
    t.match(versions.stdout, /^1\.0\.0 .* \(provenance, sbom, urgent\) /, "lists of versions name what is there");
    const opening = ["artifact", "open", kept, "--signer-public-key", Buffer.from(publicKeyOf(seed)).toString("hex")];
    const opened = await sealift(...opening, "--published-as", id);
    t.match(opened, { code: 0, stderr: /^1\.0\.0 was published by .+ \(provenance, sbom, urgent\)\.$/m });
    const answered = JSON.parse((await sealift(...opening, "--published-as", id, "--json")).stdout) as object;
    t.match(answered, {
      published: { version: "1.0.0", approved_by: null, statements: ["provenance", "sbom", "urgent"] },
    });
    t.notMatch((await sealift(...opening)).stderr, "published by", "the file alone does not say it");
    const never = join(folder, "never.xdeploy");
    const building = [...publishing, ...signed, "--level", "19", "--out", never];
    t.match(await builtProgram(building, { cwd: folder, env: { XDG_CONFIG_HOME: folder } }), { code: 0 });
    const unknown = await sealift(...opening.with(2, never), "--published-as", id);
    t.match(unknown, { code: 1, stderr: /\(not_found\)[^]* has these bytes/ });

    const saved = join(folder, "saved");
    const listed = await sealift("version", "statements", id, "1.0.0", "--download", saved, "--json");
    t.equal(listed.code, 0, listed.stderr);
    const records = listed.stdout.trim().split("\n").slice(0, -1);
    const shown = records.map((line) => JSON.parse(line) as StatementRecord);
    t.strictSame(shown.map(({ kind }) => kind).toSorted(), ["provenance", "sbom", "urgent"]);
    for (const { kind, sha256: digest, signer_public_key: signer } of shown) {
      t.equal(sha256(await readFile(join(saved, `${kind}.json`))), digest);
      t.equal(signer, Buffer.from(publicKeyOf(seed)).toString("base64"));
    }

    const answer = await hub.call("GET", `/app/deploy/v1/projects/${id}/artifacts/1.0.0/statements`);
    await writeFile(join(folder, "listed.json"), answer.bytes);
    const [facts, bundle] = [join(folder, "listed.json"), join(saved, "provenance.json")];
    const { stdout } = await run(programFile("python3"), ["-c", VERIFIER, facts, bundle, `project:${id}`]);
    t.equal(stdout, "3 verified\n");
    await t.rejects(run(programFile("python3"), ["-c", VERIFIER, facts, bundle, "project:other"]), "it can fail");

    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
    t.equal(await validator.validate(await readFile(join(saved, "sbom.json"), "utf8")), null);
    t.not(await validator.validate(billOf([{ type: "nothing", name: "x" }]).toString()), null, "and this can fail");
  },
);
