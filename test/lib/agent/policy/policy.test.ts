// Holds: which statements a host demands (lib/agent/policy/rules.ts)
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { readPolicy } from "../../../../lib/agent/policy/policy-file.ts";
import { installed, type PolicyHost, policyHost } from "../../../support/host/policy-host.ts";
import { ISSUER, REPOSITORY, startSigstore } from "../../../support/hub/sigstore.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const BUILT = `issuer: ${ISSUER}\nrepository: ${REPOSITORY}\ntrusted_root: trusted_root.json\n`;

/** Refuses a version, and says why. */
async function refused(h: PolicyHost, version: string, policy: string): Promise<string> {
  const { outcome, error } = await h.deploy(version, policy);
  if (outcome !== "failed" || error?.code !== "policy_refused") throw new Error(`${outcome} ${error?.message}`);
  return error.message;
}

t.test("a version is taken when its provenance is signed by the workflow that the policy names", async (t) => {
  const h = await policyHost(t);
  const tree = await h.publish("1.0.0");
  t.match(await refused(h, "1.0.0", BUILT), /does not meet the rule issuer of .*no statement of the kind provenance/);
  t.equal(await installed(h.folder), undefined, "nothing was installed");
  await h.state("1.0.0", { provenance: { subjects: [tree] } });
  const other = BUILT.replace("acme/tide", "acme/other");
  t.match(await refused(h, "1.0.0", other), /rule repository .* of https:\/\/github.com\/acme\/tide, not of .*other/);
  t.match(await refused(h, "1.0.0", BUILT.replace(ISSUER, "https://gitlab.com")), /rule issuer/);
  await writeFile(join(h.folder, "another.json"), (await startSigstore()).trustedRoot);
  const foreign = BUILT.replace("trusted_root.json", "another.json");
  t.match(
    await refused(h, "1.0.0", foreign),
    /its provenance does not verify/,
    "another authority is not an authority",
  );
  t.match(await refused(h, "1.0.0", `issuer: ${ISSUER}\n`), /does not verify/, "nor is ours for the public Sigstore");
  const { outcome, error } = await h.deploy("1.0.0", BUILT);
  t.strictSame([outcome, error], ["deployed", undefined]);
  t.equal(await installed(h.folder), "1.0.0");
});

t.test("a version waits until it is old enough, unless its signer says that it is urgent", async (t) => {
  const h = await policyHost(t);
  await h.publish("1.0.0");
  t.match(await refused(h, "1.0.0", "min_age: 24h\n"), /rule min_age .* is old enough from .*T.*Z on/);
  t.equal((await h.deploy("1.0.0", "min_age: 0s\n")).outcome, "deployed");
  await h.publish("1.1.0");
  await refused(h, "1.1.0", "min_age: 24h\n");
  await h.state("1.1.0", { urgent: "CVE-2026-1" });
  t.equal((await h.deploy("1.1.0", "min_age: 24h\n")).outcome, "deployed");
});

t.test("a bill of materials and an approval can be demanded", async (t) => {
  const h = await policyHost(t);
  await h.publish("1.0.0");
  t.match(await refused(h, "1.0.0", "sbom: true\n"), /rule sbom/);
  await h.state("1.0.0", { sbom: true });
  t.match(await refused(h, "1.0.0", "sbom: true\napproved: true\n"), /rule approved .*nobody has approved it/);
  t.equal((await h.deploy("1.0.0", "sbom: true\napproved: false\n")).outcome, "deployed");
});

t.test("what is refused again for the same reason is not reported again, and is never in quarantine", async (t) => {
  const h = await policyHost(t);
  await h.publish("1.0.0");
  const reports = join(h.folder, "root", ".sealift", "reports", `project-${h.projectId}`);
  for (let i = 0; i < 3; i++) await refused(h, "1.0.0", "min_age: 24h\n");
  t.equal((await readdir(reports)).length, 1);
  await refused(h, "1.0.0", "sbom: true\n");
  t.equal((await readdir(reports)).length, 2, "another reason is news");
  const fleet = await h.hub.call("GET", `/app/deploy/v1/projects/${h.projectId}/hosts?limit=10`);
  t.match(fleet.body.host, { state: "held", error_message: /^held: policy: 1\.0\.0 does not meet the rule sbom/ });
});

t.test("a hub that is older than statements is told of once, not at every check", async (t) => {
  const h = await policyHost(t);
  await h.publish("1.0.0");
  const older = createServer((_request, response) => {
    response.writeHead(404, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ error: "There is no such route.", detail: "There is no such route.", code: "not_found" }),
    );
  }).listen(0, "127.0.0.1");
  t.teardown(() => older.close());
  await once(older, "listening");
  const url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`;
  for (let i = 0; i < 2; i++)
    t.match((await h.deploy("1.0.0", "sbom: true\n", url)).error, {
      code: "policy_refused",
      message: /older than statements/,
    });
  const reports = join(h.folder, "root", ".sealift", "reports", `project-${h.projectId}`);
  t.equal((await readdir(reports)).length, 1);
  older.closeAllConnections();
});

t.test("a policy that says nothing, or something unknown, is not valid", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "policy.yaml");
  for (const text of [
    "",
    "{}",
    "sbom: false\n",
    "trusted_root: x\n",
    "sbmo: true\n",
    "min_age: 24\n",
    "min_age: soon\n",
  ]) {
    await writeFile(file, text);
    await t.rejects(readPolicy(file), { code: "config_invalid" }, JSON.stringify(text));
  }
  await writeFile(file, "sbom: true\ntrusted_root: missing.json\n");
  await t.rejects(readPolicy(file), { code: "config_invalid", message: /missing\.json cannot be read/ });
});
