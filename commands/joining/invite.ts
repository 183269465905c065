import { Command } from "clipanion";
import type { makeTerms, NewTerms } from "../../lib/artifact/sealed/terms.ts";
import type { TrustRoot } from "../../lib/artifact/trust/root.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { ProjectHosts } from "../../lib/client/joining.ts";
import { deploymentError, SealiftError, usageError } from "../../lib/contract/errors.ts";
import type { InviteRequest, NewInvite } from "../../lib/contract/joining/records.ts";
import { hostInvite } from "../../lib/options/joining.ts";
import { withOptions } from "../shell/base.ts";
import { timeText } from "../shell/output/listing.ts";
import { hostsOf } from "./hosts.ts";

const OLDER_HUB = "Ask its operator to upgrade it to 0.3.0, or invite hosts without --operator-key.";

export class HostInvite extends withOptions(hostInvite) {
  static override paths = [["host", "invite"]];
  static override usage = Command.Usage({
    category: "Hosts",
    description: "Invite hosts to a project: they join by themselves",
    details: `
      Prints a token, once. Each host that runs \`sealift join HUB --token-file FILE\` with it gets a key that speaks for
      this host alone. The token carries the fingerprint of the signers, or of the project's trust root if it follows one,
      so that no hub can name others to a host. With \`--approve\` hosts wait until \`sealift host approve\` lets them in. Their keys deploy and report; with \`--fleet\`
      they also read versions, rollouts and numbers of the project, for a host with a dashboard.
      With \`--operator-key\` hosts take settings from the operator whose key it is (\`sealift settings apply\`): he signs
      project, labels and names, and no hub can change them.
    `,
    examples: [
      ["Fifty hosts within an hour", "$0 host invite --project harbour --uses 50 --label env=prod > join.token"],
      [
        "One host that gets settings by its name",
        "$0 host invite --project harbour --host pier-7 --operator-key operator.key > join.token",
      ],
      ["One host, which somebody looks at first", "$0 host invite --project harbour --approve > join.token"],
    ],
  });

  override async run(): Promise<number> {
    const { project, expiresMs, approve, fleet, labels: given, operatorKey, hosts } = this.options;
    const uses = Math.max(this.options.uses, hosts.length);
    if (hosts.length > 0 && operatorKey === undefined)
      throw usageError("usage", "--host needs --operator-key: names that nobody has signed bind no host.");
    const [{ fingerprintOf, joinLine, rootFingerprint, rootJoinLine, withOperator }, { client, id, keyService, hub }] =
      await Promise.all([import("../../lib/contract/joining/token.ts"), hostsOf(this.options, project)]);
    const root = await this.#root(hub, id);
    const signers = root === undefined ? await this.#signers(id, keyService) : [];
    const pins = root === undefined ? fingerprintOf(signers) : `root-${rootFingerprint(root.digest)}`;
    const labels = Object.fromEntries(given);
    const expires_at = new Date(Date.now() + expiresMs).toISOString();
    const terms = await this.#terms({ project: id, labels, uses, expires_at, pins });
    const { token, ...invite } = await this.#invite(client, {
      // Hubs before 0.2 know no such fields.
      ...{ uses, approve, ...(root === undefined ? { signers } : { root: root.text }), ...(fleet && { fleet }) },
      ...{ labels, expires_at, ...(terms !== undefined && { terms: terms.text }) },
    });
    if (terms !== undefined && invite.terms_digest !== terms.digest) {
      await client.revokeInvite({ params: { invite: invite.id } });
      throw deploymentError("bad_answer", "The hub made the invite without the operator's terms, and it was revoked.", {
        hint: OLDER_HUB,
      });
    }
    const plain = root === undefined ? joinLine(token, signers) : rootJoinLine(token, root.digest);
    const line = terms === undefined ? plain : withOperator(plain, terms.secret);
    if (this.json) return this.done({ invite, token: line });
    const many = uses === 1 ? "One host" : `${uses} hosts`;
    const pinned = root === undefined ? signers.join(", ") : `version ${root.version} of the trust root ${root.id}`;
    this.note(`${many} may join until ${timeText(invite.expires_at)} (${invite.id}). They pin ${pinned}.`);
    this.note(`On the host: sealift join ${this.options.hubUrl} --token-file FILE`);
    this.note("The token is shown this once:");
    this.print.line(line);
    return 0;
  }

  /** Makes the terms of the invite; undefined without an operator. */
  async #terms(invite: Omit<Parameters<typeof makeTerms>[0], "hosts">): Promise<NewTerms | undefined> {
    const { operatorKey, hosts } = this.options;
    if (operatorKey === undefined) return undefined;
    const [{ makeTerms: make }, { hostId }, { operatorSeedIn }] = await Promise.all([
      import("../../lib/artifact/sealed/terms.ts"),
      import("../../lib/contract/identifiers.ts"),
      import("../settings/operator-key.ts"),
    ]);
    const odd = hosts.find((host) => !hostId.safeParse(host).success);
    if (odd !== undefined) throw usageError("usage", `--host ${JSON.stringify(odd)} is not a name of a host.`);
    return make({ ...invite, ...(hosts.length > 0 && { hosts: [...hosts] }) }, await operatorSeedIn(operatorKey));
  }

  /** Makes the invite at the hub. @throws DeploymentError `hub_refused` for one that knows no terms */
  async #invite(client: ProjectHosts, request: InviteRequest): Promise<NewInvite> {
    try {
      return await client.createInvite({ body: request });
    } catch (error) {
      const isOlder = request.terms !== undefined && error instanceof SealiftError && error.status === 422;
      if (!isOlder || !/unknown keys? [^;]*"terms"/.test(error.message)) throw error;
      throw deploymentError("hub_refused", "The hub is older than settings: it knows no terms of operators.", {
        ...{ status: 422, cause: error, hint: OLDER_HUB },
      });
    }
  }

  /**
   * Returns the trust root for an invite: the given one, or that of the project at the hub; undefined where there is
   * none, or where signers are given.
   */
  async #root(hub: HubConnection, id: string): Promise<TrustRoot | undefined> {
    const { root: file, signers } = this.options;
    if (file !== undefined && signers !== undefined)
      throw usageError("usage", "--root and --signer-public-key contradict each other: the root names the signers.");
    if (file !== undefined) return (await import("../trust/keys.ts")).rootIn(file);
    if (signers !== undefined) return undefined;
    const { newestRootOf } = await import("../../lib/client/trust-roots.ts");
    const text = await newestRootOf(hub, id);
    if (text === undefined) return undefined;
    return (await import("../../lib/artifact/trust/root.ts")).anchoredRoot(text, "The trust root of the hub");
  }

  /** Returns the signers for an invite. @throws UsageError `usage` where the project has no signer */
  async #signers(id: string, client: Awaited<ReturnType<typeof hostsOf>>["keyService"]): Promise<string[]> {
    const { signers: given } = this.options;
    if (given !== undefined) {
      const { publicKeysFrom } = await import("../shell/signer.ts");
      return (await publicKeysFrom(given)).map((key) => Buffer.from(key).toString("hex"));
    }
    const { currentSigners } = await import("../../lib/client/project-signers.ts");
    const signers = await currentSigners(client, id);
    if (signers.length > 0) return signers;
    throw usageError("usage", "Nobody has signed the project yet: hosts would not know whom to trust.", {
      hint: "Give --signer-public-key signer.pub, register a signer (`sealift signer add`), or publish a version first.",
    });
  }
}
