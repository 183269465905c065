import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import type { StatementsAnswer } from "../../../lib/contract/statements/statements.ts";
import { installed, type PolicyHost, policyHost } from "../../support/host/policy-host.ts";
import { ISSUER } from "../../support/hub/sigstore.ts";
import { endorsed } from "../../support/hub/statements.ts";

/** A hub that tells of version 1.0.0 when it is asked for the statements of 1.1.0. @param change of what it tells */
async function lyingHub(
  t: Test,
  { hub, key }: PolicyHost,
  change: (answer: StatementsAnswer) => Partial<StatementsAnswer> = () => ({}),
): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url!.replace("/1.1.0/", "/1.0.0/");
      const { status, body, bytes } = await hub.call("GET", path, { key });
      response.writeHead(status, { "content-type": "application/json" });
      if (!path.endsWith("/statements")) return response.end(bytes);
      const answer = { ...(body as StatementsAnswer), version: "1.1.0" };
      return response.end(JSON.stringify({ ...answer, ...change(answer) }));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const statementsOf = ({ projectId }: PolicyHost, version: string): string =>
  `/app/deploy/v1/projects/${projectId}/artifacts/${version}/statements`;

async function twoVersions(t: Test): Promise<PolicyHost & { second: string }> {
  const h = await policyHost(t);
  const tree = await h.publish("1.0.0");
  await h.state("1.0.0", { provenance: { subjects: [tree] }, sbom: true, urgent: "now" });
  const second = await h.publish("1.1.0");
  return { ...h, second };
}

const BUILT = `issuer: ${ISSUER}\ntrusted_root: trusted_root.json\n`;

t.test("a hub cannot show the statements of one version for another", async (t) => {
  const h = await twoVersions(t);
  const liar = await lyingHub(t, h);
  for (const policy of [BUILT, "sbom: true\n", "min_age: 24h\n"])
    t.match((await h.deploy("1.1.0", policy, liar)).error, { code: "policy_refused" }, policy);
  t.equal(await installed(h.folder), undefined);
});

t.test("… nor by saying that nobody has signed the version, or somebody else", async (t) => {
  const h = await twoVersions(t);
  const unsigned = await lyingHub(t, h, ({ statements }) => ({
    signer_public_key: null,
    statements: statements.map((one) => ({ ...one, signature: null, signer_public_key: null })),
  }));
  for (const policy of [BUILT, "sbom: true\n"])
    t.match(
      (await h.deploy("1.1.0", policy, unsigned)).error,
      { code: "policy_refused", message: /The bytes of 1\.1\.0 are not those/ },
      policy,
    );
  t.match((await h.deploy("1.1.0", "min_age: 24h\n", unsigned)).error, { code: "policy_refused" });
  const mixed = await lyingHub(t, h, () => ({ content_sha256: h.second, signer_public_key: null }));
  t.match((await h.deploy("1.1.0", BUILT, mixed)).error, { code: "policy_refused" });
  t.equal(await installed(h.folder), undefined);
});

t.test("… nor give other bytes of a statement than it lists", async (t) => {
  const h = await policyHost(t);
  for (const version of ["1.0.0", "1.1.0"])
    await h.state(version, { provenance: { subjects: [await h.publish(version)] } });
  const { body } = await h.hub.call("GET", statementsOf(h, "1.1.0"));
  const liar = await lyingHub(t, h, () => body as StatementsAnswer);
  const { error } = await h.deploy("1.1.0", BUILT, liar);
  t.match(error, { code: "bad_answer", message: /is not the one that the hub lists/ });
  t.equal(await installed(h.folder), undefined);
});

t.test("… nor, with the signer's key, the provenance of another artifact for this tree", async (t) => {
  const h = await policyHost(t);
  const sha256Of = async (version: string): Promise<string> =>
    ((await h.hub.call("GET", statementsOf(h, version))).body as StatementsAnswer).artifact_sha256;
  await h.publish("1.0.0");
  const tree = await h.publish("1.1.0");
  const honest = await sha256Of("1.0.0");
  await h.state("1.0.0", { provenance: { subjects: [honest] } });
  t.match(await h.deploy("1.0.0", BUILT), { status: "success" }, "by the digest of its artifact");
  const { statements } = (await h.hub.call("GET", statementsOf(h, "1.0.0"))).body as StatementsAnswer;
  const target = { kind: "project", slug: h.projectId } as const;
  const stated = { hub: h.hub, target, version: "1.1.0", artifact_sha256: honest, content_sha256: tree };
  const bytes = (await h.hub.call("GET", `${statementsOf(h, "1.0.0")}/provenance`)).bytes;
  const liar = await lyingHub(t, h, () => ({
    content_sha256: tree,
    statements: statements.map((one) => ({ ...one, ...endorsed(stated, "provenance", bytes, h.signer) })),
  }));
  t.match((await h.deploy("1.1.0", BUILT, liar)).error, { code: "policy_refused", message: /are not those/ });
  t.equal(await installed(h.folder), "1.0.0");
});
