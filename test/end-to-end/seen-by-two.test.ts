// Only in test:all: two hubs, and servers around them.
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { publicKeyOf } from "../../lib/artifact/signatures/ed25519.ts";
import { plant } from "../support/host/project-root.ts";
import { AUDIENCE, startWorkflow } from "../support/hub/publishers.ts";
import { ISSUER, REPOSITORY, startSigstore } from "../support/hub/sigstore.ts";
import { billOf } from "../support/hub/statements.ts";
import { Visitor } from "../support/hub/web.ts";
import { builtProgram } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("CI publishes without a key, a person approves, and a host takes that and nothing made by hand", async (t) => {
  const { hub, trust, run } = await startWorkflow(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  const seed = randomBytes(32);
  const { body: publisher } = await trust({ creates: { kind: "project", name: "Harbour" } });
  const id = publisher.creates.slug as string;
  const sealift = (key: string | undefined, ...words: string[]) =>
    builtProgram(words, {
      cwd: folder,
      env: {
        ...{ PATH: process.env["PATH"], SEALIFT_HUB_URL: hub.url, XDG_CONFIG_HOME: folder },
        ...(key !== undefined && { SEALIFT_API_KEY: key }),
      },
    });
  const plantVersion = (version: string) =>
    plant(folder, {
      "tree/deployment/install.yaml": `format_version: "1"\nproject_id: ${id}\nversion: ${version}\nsteps:\n  - {id: install, action: install_plugin, plugin: tide}\n`,
      "tree/plugins/tide/plugin.yaml": `name: tide\nversion: ${version}\nexecution_mode: trusted\n`,
    });
  const sigstore = await startSigstore();
  await plant(folder, {
    "signer.key": seed.toString("hex"),
    "signer.pub": Buffer.from(publicKeyOf(seed)).toString("hex"),
    "trusted_root.json": sigstore.trustedRoot,
    "policy.yaml": `issuer: ${ISSUER}\nrepository: ${REPOSITORY}\napproved: true\nsbom: true\ntrusted_root: trusted_root.json\n`,
    "bom.json": billOf([{ name: "lodash", version: "4.17.20", purl: "pkg:npm/lodash@4.17.20" }]).toString(),
  });
  const publishing = (version: string) => ["project", "publish", "tree", "--version", version];

  // The run: the tree's digest first, then its provenance, then the publication, all without a stored key of the hub.
  await plantVersion("1.0.0");
  const dry = await sealift(undefined, ...publishing("1.0.0"), "--project-id", id, "--dry-run", "--json");
  const { content_sha256: tree } = JSON.parse(dry.stdout.trim().split("\n").at(-1)!) as { content_sha256: string };
  await writeFile(join(folder, "provenance.json"), JSON.stringify(await sigstore.attest({ subjects: [tree] })));
  await writeFile(join(folder, "token.jwt"), await run());
  const byRun = ["--oidc", "--oidc-token-file", "token.jwt", "--oidc-audience", AUDIENCE];
  const stated = ["--provenance", "provenance.json", "--sbom", "bom.json"];
  const signed = ["--signing-key-file", "signer.key"];
  const published = await sealift(
    undefined,
    ...[...publishing("1.0.0"), "--project-id", "Harbour", "--stage", ...byRun, ...stated, ...signed],
  );
  t.equal(published.code, 0, published.stderr);

  const issued = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "host", project_id: id, scopes: ["deploy", "report", "read"] },
  });
  const { key: hostKey, deployment_credential: credential } = issued.body as Record<string, string>;
  await plant(folder, { "host.credential": credential! });
  const deploying = ["project", "deploy", "--project-id", id, "--project-root", "root", "--host-id", "quay-1"];
  const deploy = (version: string) =>
    sealift(
      hostKey,
      ...[...deploying, "--version", version, "--policy", "policy.yaml", "--signer-public-key", "signer.pub"],
      ...["--deployment-credential-file", "host.credential"],
    );
  t.match(await deploy("1.0.0"), { code: 1, stderr: /not_found/ }, "what is staged is not there for a host");

  // Not whoever trusts the workflow: what its runs stage, somebody else approves.
  const second = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "second", scopes: ["publish", "read"] },
  });
  const person = await new Visitor(hub.url).signIn((second.body as { key: string }).key);
  const at = `/staging/${id}/1.0.0`;
  const [, sha256 = ""] = /name="sha256" value="([0-9a-f]{64})"/.exec((await person.request(at)).html) ?? [];
  t.equal((await person.submit(at, `${at}/approve`, { sha256 })).status, 303);
  const deployed = await deploy("1.0.0");
  t.match(deployed, { code: 0, stdout: "deployed 1.0.0\n" }, deployed.stderr);

  await plantVersion("1.1.0");
  const byHand = await sealift(
    hub.adminKey,
    ...publishing("1.1.0"),
    "--project-id",
    id,
    ...signed,
    "--sbom",
    "bom.json",
  );
  t.equal(byHand.code, 0, byHand.stderr);
  t.match(await deploy("latest"), {
    code: 1,
    stderr: /error \(policy_refused\): 1\.1\.0 does not meet the rule approved/,
  });
  const check = (version: string) =>
    sealift(hostKey, "policy", "check", `project:${id}`, version, "--policy", "policy.yaml");
  t.match(await check("1.0.0"), { code: 0, stdout: /^approved +yes.+\nsbom +yes.+\nissuer +yes.+\nrepository +yes/m });
  const refused = await check("1.1.0");
  t.match(refused, {
    code: 1,
    stdout: /approved +no.+\nsbom +yes.+\nissuer +no/,
    stderr: /approved, issuer, repository/,
  });

  const found = await sealift(hub.adminKey, "fleet", "find", "lodash@<4.17.21");
  t.match(found, { code: 0, stdout: /1\.0\.0 +lodash 4\.17\.20 +1 +quay-1\n.*1\.1\.0 +lodash 4\.17\.20 +0/s });
});
