import { deploymentError } from "../../lib/contract/errors.ts";
import { policyCheck, statementsOfVersion } from "../../lib/options/statements.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import type { CommandFeature } from "../shell/feature.ts";
import { showList } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";

/** Returns the client of a target's statements. @throws DeploymentError `not_found` */
async function statementsOf(options: Connected, text: string) {
  const hub = hubConnection(options, DEPLOY_TIMEOUT_MS);
  const [{ targetCalled }, { StatementsClient }] = await Promise.all([
    import("../../lib/client/lookup.ts"),
    import("../../lib/client/statements.ts"),
  ]);
  return new StatementsClient(await targetCalled(hub, text), hub);
}

const ofVersion = resource("version", ["TARGET", "VERSION"], statementsOf);

const list = ofVersion("statements", statementsOfVersion, {
  description: "List what a version's publisher says of it, and save it",
  details: `
    \`provenance\` says where the version was built, \`sbom\` which components it has, \`urgent\` that hosts need not
    wait for it to age. SIGNED BY is the version's signer, who stands for the digest. CLAIMS is the workflow that the
    certificate names: the hub has not verified it, and \`sealift policy check\` does.
  `,
  examples: [
    ["What is said of a version", "$0 version statements Harbour 1.4.0"],
    ["Save the files", "$0 version statements Harbour 1.4.0 --download statements/"],
  ],
  listed: async () => Object.keys((await import("../../lib/contract/statements/statements.ts")).statementRecord.shape),
  async run(client, shell, [, version]) {
    const { download } = shell.options;
    const { statements } = await client.list(version);
    if (download !== undefined) {
      const [{ makeFolder }, { join }] = await Promise.all([import("../../lib/support/files.ts"), import("node:path")]);
      await makeFolder(download);
      for (const statement of statements)
        await client.save(version, statement, join(download, `${statement.kind}.json`));
    }
    const { sizeText } = await import("../../lib/support/size-text.ts");
    return showList(shell, {
      event: "statement",
      rows: statements,
      columns: {
        KIND: ({ kind }) => kind,
        TYPE: ({ predicate_type: type }) => type ?? "–",
        SIZE: ({ size_bytes: bytes }) => sizeText(bytes),
        SHA256: ({ sha256 }) => sha256.slice(0, 16),
        "SIGNED BY": ({ signer_public_key: key }) =>
          key === null ? "–" : Buffer.from(key, "base64").toString("hex").slice(0, 16),
        CLAIMS: ({ claimed_by: who }) => who ?? "–",
      },
      none: "Nothing was added to the version.",
    });
  },
});

/** Returns the hub, and the target that a person names. @throws DeploymentError `not_found` */
async function targetOf(options: Connected, text: string) {
  const hub = hubConnection(options, DEPLOY_TIMEOUT_MS);
  const { targetCalled } = await import("../../lib/client/lookup.ts");
  return { hub, target: await targetCalled(hub, text) };
}

const ofPolicy = resource("policy", ["TARGET", "VERSION"], targetOf);

const check = ofPolicy("check", policyCheck, {
  description: "Say for each rule of a policy whether a version meets it",
  details: `
    A host with \`--policy\` installs nothing that does not meet it. This looks at every rule of the file, as the host
    would, and changes nothing; it ends with 1 where one does not hold. Provenance is verified without the network.
    The signer is the one that the hub names: a host compares it with the one that is pinned there.
  `,
  examples: [["Would this host take it?", "$0 policy check Harbour 1.4.0 --policy /etc/sealift/policy.yaml"]],
  listed: () => ["rule", "holds", "why", "from"],
  async run({ hub, target }, shell, [called, version]) {
    const [{ readPolicy }, { fetchEvidence, noEvidence }, { verdicts }] = await Promise.all([
      import("../../lib/agent/policy/policy-file.ts"),
      import("../../lib/agent/policy/evidence.ts"),
      import("../../lib/agent/policy/rules.ts"),
    ]);
    const policy = await readPolicy(shell.options.policy);
    const evidence = await fetchEvidence(target, version, hub);
    if (evidence === undefined)
      throw deploymentError("policy_refused", noEvidence(version), {
        hint: "Ask the hub's operator whether the version is there, and which version of Sealift the hub runs.",
      });
    const found = await Array.fromAsync(verdicts(policy, evidence, Date.now()));
    const failing = found.filter(({ holds }) => !holds);
    const isMet = failing.length === 0;
    const ended = await showList(isMet ? shell : { ...shell, done: () => 0 }, {
      event: "rule",
      rows: found,
      columns: {
        RULE: ({ rule }) => rule,
        HOLDS: ({ holds }) => (holds ? "yes" : "no"),
        WHY: ({ why }) => why,
      },
      result: () => ({ meets: true }),
      none: "The policy has no rule: its hub_keys bind kits alone.",
    });
    if (isMet) return ended;
    const rules = failing.map(({ rule }) => rule).join(", ");
    throw deploymentError("policy_refused", `${called} ${version} does not meet ${policy.file}: ${rules}.`);
  },
});

/** Commands of the statements that publishers add to their versions. */
export const statements: CommandFeature = { name: "statements", commands: [list, check] };
