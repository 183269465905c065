import { deploymentError } from "../../lib/contract/errors.ts";
import { policyCheck } from "../../lib/options/statements.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import { showList } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";

/** The hub, and the target that a person calls. @throws DeploymentError `not_found` */
async function targetOf(options: Connected, text: string) {
  const hub = hubConnection(options, DEPLOY_TIMEOUT_MS);
  const { targetCalled } = await import("../../lib/client/lookup.ts");
  return { hub, target: await targetCalled(hub, text) };
}

/** Looks at the rules of a policy for one version. */
export const PolicyCheck = resource("policy", ["TARGET", "VERSION"], targetOf)("check", policyCheck, {
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
    });
    if (isMet) return ended;
    const rules = failing.map(({ rule }) => rule).join(", ");
    throw deploymentError("policy_refused", `${called} ${version} does not meet ${policy.file}: ${rules}.`);
  },
});
