import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { readPolicy } from "../../../lib/agent/policy/policy-file.ts";
import { installed, policyHost } from "../../support/host/policy-host.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const BAD: Record<string, string> = {
  "no YAML": "issuer: [\n",
  "two keys of one name": "sbom: false\nsbom: true\n",
  "an unknown rule": "sbom: true\nrepositry: https://github.com/acme/tide\n",
  "aliases that multiply": `a: &a [x, x]\nb: &b [*a, *a]\n${Array.from({ length: 600 }, (_, i) => `c${i}: *b`).join("\n")}\n`,
  "too deep": `sbom: ${"[".repeat(100)}${"]".repeat(100)}\n`,
  "too large": `# ${"x".repeat(2 * 1024 * 1024)}\nsbom: true\n`,
  "a rule that is text": "sbom: 'true'\n",
  "an issuer that is not https": "issuer: http://token.actions.githubusercontent.com\n",
  "a pattern in place of a repository": "repository: .*\n",
  "a negative age": "min_age: -1h\n",
  "a tag": "sbom: !!js/function 'function () {}'\n",
};

t.test("a policy that cannot be read as it stands lets nothing in", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "policy.yaml");
  for (const [what, text] of Object.entries(BAD)) {
    await writeFile(file, text);
    await t.rejects(readPolicy(file), { code: "config_invalid" }, what);
  }
  await t.rejects(readPolicy(join(folder, "missing.yaml")), { code: "config_invalid" });
});

t.test("a root that is none lets nothing in", async (t) => {
  const h = await policyHost(t);
  const tree = await h.publish("1.0.0");
  await h.state("1.0.0", { provenance: { subjects: [tree] } });
  const policy = "issuer: https://token.actions.githubusercontent.com\ntrusted_root: bad.json\n";
  const empty = JSON.stringify({ ...(JSON.parse(h.sigstore.trustedRoot) as object), certificateAuthorities: [] });
  for (const root of ["", "{}", "[", "null", `${"[".repeat(1000)}${"]".repeat(1000)}`, empty]) {
    await writeFile(join(h.folder, "bad.json"), root);
    const { error } = await h.deploy("1.0.0", policy);
    t.match(error, { code: "config_invalid" }, root.slice(0, 20));
  }
  t.equal(await installed(h.folder), undefined);
});
