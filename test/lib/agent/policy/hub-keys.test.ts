// Holds: whose word a policy takes about a version on a stick (lib/agent/policy/hub-keys.ts)
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { unknownHub } from "../../../../lib/agent/policy/hub-keys.ts";
import { readPolicy } from "../../../../lib/agent/policy/policy-file.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const [own, other] = ["ab".repeat(32), "cd".repeat(32)];

t.test("a rule that rests on a hub's word wants its key, and one that rests on signatures does not", async (t) => {
  const file = join(temporaryFolder(t), "policy.yaml");
  const refusal = async (rules: string, hubKey: string, hasPinnedSigner = true) => {
    await writeFile(file, `${rules}\n`);
    return unknownHub(await readPolicy(file), { version: "1.0.0", hubKey, hasPinnedSigner });
  };
  const keys = `hub_keys: ["${own}"]`;
  for (const rule of ["approved: true", "min_age: 1d"]) {
    t.match(await refusal(rule, own), own, `${rule}: nobody has named it`);
    t.equal(await refusal(`${rule}\n${keys}`, own), undefined);
    t.match(await refusal(`${rule}\n${keys}`, other), other);
  }
  t.equal(await refusal("sbom: true", other), undefined, "the pinned signer stands for it");
  t.match(await refusal("sbom: true", other, false), other, "and without one it is the hub's word");
  const signed = "issuer: https://token.actions.githubusercontent.com\napproved: false";
  t.equal(await refusal(signed, other, false), undefined);
  t.match(await refusal(`${signed}\n${keys}`, other), other, "keys that are named bind each kit");
  for (const wrong of ["[]", `["${own.toUpperCase()}"]`, `["${own.slice(1)}"]`, JSON.stringify(Array(5).fill(own))])
    await t.rejects(refusal(`approved: true\nhub_keys: ${wrong}`, own), { code: "config_invalid" }, wrong);
  t.equal(await refusal(keys, own), undefined, "no rule is needed to bind kits to a hub");
  t.match(await refusal(`approved: false\n${keys}`, other), other);
  for (const none of ["approved: false", "trusted_root: root.json", "sbom: false"])
    await t.rejects(refusal(none, own), { code: "config_invalid", message: /at least one rule/ }, none);
});
