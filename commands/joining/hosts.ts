import { Command } from "clipanion";
import type { TrustRoot } from "../../lib/artifact/trust/root.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { usageError } from "../../lib/contract/errors.ts";
import type { JoinedHost } from "../../lib/contract/joining/records.ts";
import { labelsText } from "../../lib/contract/labels.ts";
import { connection } from "../../lib/options/connection.ts";
import { hostInvite, hostRemoval } from "../../lib/options/joining.ts";
import { managed } from "../hub/managed.ts";
import { withOptions } from "../shell/base.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";

/** Returns the client of invites and hosts of a project. @throws as `idOf` of {@link managed} */
async function hostsOf(options: Connected, text: string) {
  const [{ JoiningClient }, { hub, client, idOf }] = await Promise.all([
    import("../../lib/client/joining.ts"),
    managed(options),
  ]);
  const id = await idOf(text);
  return { hub, keyService: client, id, client: new JoiningClient(hub, id) };
}

const ofProject = resource("host", ["PROJECT"], hostsOf);
const ofHost = resource("host", ["PROJECT", "HOST"], (options, project) => hostsOf(options, project));
const ofInvite = resource("host", ["PROJECT", "INVITE"], (options, project) => hostsOf(options, project));
const ofNames = resource("host", ["PROJECT", "HOST", "NAME"], (options, project) => hostsOf(options, project));

class HostInvite extends withOptions(hostInvite) {
  static override paths = [["host", "invite"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Invite hosts to a project: they join by themselves",
    details: `
      Prints a token, once. Each host that runs \`sealift join HUB --token-file FILE\` with it gets a key that speaks for
      this host alone. The token carries the fingerprint of the signers, or of the project's trust root if it follows one,
      so that no hub can name others to a host. With \`--approve\` hosts wait until \`sealift host approve\` lets them in. Their keys deploy and report; with \`--fleet\`
      they also read versions, rollouts and numbers of the project, for a host with a dashboard.
    `,
    examples: [
      ["Fifty hosts within an hour", "$0 host invite --project harbour --uses 50 --label env=prod > join.token"],
      ["One host, which somebody looks at first", "$0 host invite --project harbour --approve > join.token"],
    ],
  });

  override async run(): Promise<number> {
    const { project, uses, expiresMs, approve, fleet, labels } = this.options;
    const [{ joinLine, rootJoinLine }, { client, id, keyService, hub }] = await Promise.all([
      import("../../lib/contract/joining/token.ts"),
      hostsOf(this.options, project),
    ]);
    const root = await this.#root(hub, id);
    const signers = root === undefined ? await this.#signers(id, keyService) : [];
    const { token, ...invite } = await client.invite({
      // Hubs before 0.2 know no such fields.
      ...{ uses, approve, ...(root === undefined ? { signers } : { root: root.text }), ...(fleet && { fleet }) },
      labels: Object.fromEntries(labels),
      expires_at: new Date(Date.now() + expiresMs).toISOString(),
    });
    const line = root === undefined ? joinLine(token, signers) : rootJoinLine(token, root.digest);
    if (this.json) return this.done({ invite, token: line });
    const many = uses === 1 ? "One host" : `${uses} hosts`;
    const pins = root === undefined ? signers.join(", ") : `version ${root.version} of the trust root ${root.id}`;
    this.note(`${many} may join until ${timeText(invite.expires_at)} (${invite.id}). They pin ${pins}.`);
    this.note(`On the host: sealift join ${this.options.hubUrl} --token-file FILE`);
    this.note("The token is shown this once:");
    this.print.line(line);
    return 0;
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

const invites = ofProject("invites", connection, {
  description: "List the invites of a project",
  examples: [["Which ones are open", "$0 host invites harbour"]],
  listed: async () => Object.keys((await import("../../lib/contract/joining/records.ts")).inviteRecord.shape),
  run: ({ client }, shell) =>
    showList(shell, {
      event: "invite",
      rows: client.invites(),
      columns: {
        INVITE: ({ id }) => id,
        STATE: ({ state }) => state,
        HOSTS: ({ used, uses }) => `${used} of ${uses}`,
        UNTIL: ({ expires_at: at }) => timeText(at),
        APPROVAL: ({ approve }) => (approve ? "needed" : ""),
        LABELS: ({ labels }) => labelsText(labels),
      },
      none: "No host was invited yet.",
    }),
});

const revoke = ofInvite("revoke-invite", hostRemoval, {
  description: "Revoke an invite, such as one whose token was stolen",
  details:
    "Nobody joins with it any more, and hosts that wait for approval with it are refused. Hosts that have joined stay.",
  examples: [["A token was stolen", "$0 host revoke-invite harbour inv_…"]],
  async run({ client }, { options: { dryRun }, note, done }, [project, invite]) {
    const hosts = (await client.hostsWith({ invite_id: invite })).map(({ host_id: host }) => host);
    if (!dryRun) await client.revokeInvite(invite);
    note(`${dryRun ? "would revoke" : "Revoked"} ${invite}.`);
    if (hosts.length > 0)
      note(`Came with it: ${hosts.join(", ")}. \`sealift host remove ${project} HOST\` removes a host.`);
    return done({ id: invite, hosts, dry_run: dryRun });
  },
});

const stateOf = ({ state }: JoinedHost): string => (state === "pending" ? "waits for approval" : state);

const list = ofProject("list", connection, {
  description: "List hosts that have joined a project, or wait for approval",
  examples: [["Who waits", "$0 host list harbour"]],
  listed: async () => Object.keys((await import("../../lib/contract/joining/records.ts")).joinedHost.shape),
  async run({ client }, shell) {
    const cloned: JoinedHost[] = [];
    async function* rows() {
      for await (const host of client.hosts()) {
        if (host.clones.length > 0) cloned.push(host);
        yield host;
      }
    }
    const code = await showList(shell, {
      event: "host",
      rows: rows(),
      columns: {
        HOST: ({ host_id: host }) => host,
        STATE: stateOf,
        VERSION: ({ version }) => version ?? "",
        HEARD: ({ heard_at: at }) => (at === null ? "never" : timeText(at)),
        JOINED: ({ created_at: at, address }) => `${timeText(at)}${address === "" ? "" : ` from ${address}`}`,
        LABELS: ({ labels }) => labelsText(labels),
        INVITE: ({ invite_id: invite }) => invite ?? "",
      },
      none: "No host has joined yet.",
    });
    for (const { host_id: host, clones } of cloned) shell.note(cloneText(host, clones));
    return code;
  },
});

/** Describes which machines speak for one host, and what to do. */
const cloneText = (host: string, clones: JoinedHost["clones"]): string =>
  `${clones.length} machines speak for ${host}: ${clones.map(({ address, heard_at: at }) => `${address} (last ${timeText(at)})`).join(", ")}. ` +
  `Remove it, and let each join under a name of its own: \`sealift docs enrolling\`.`;

const approve = ofHost("approve", connection, {
  description: "Let a host in that waits for approval",
  details: "Look at its address and time in `sealift host list` first. The host has its key within seconds.",
  examples: [["Let it in", "$0 host approve harbour pier-7"]],
  async run({ client }, { note, done }, [, host]) {
    await client.approve(host);
    note(`${host} may join; it has its key when it asks the next time.`);
    return done({ host_id: host });
  },
});

const rename = ofNames("rename", connection, {
  description: "Give a host another name",
  details: `
    A host that waits for approval takes the name over by itself. One that has joined is refused under its old name from
    then on: put the new one into its watch.yaml (\`host_id\`) and start its watch again.
  `,
  examples: [["Two hosts were called localhost", "$0 host rename harbour localhost pier-7"]],
  async run({ client }, { note, done }, [, host, name]) {
    await client.rename(host, name);
    note(`${host} is ${name} now. If it has joined, put host_id: ${name} into its watch.yaml.`);
    return done({ host_id: name, former_host_id: host });
  },
});

const remove = ofHost("remove", hostRemoval, {
  description: "Remove a host: its key ends at once, and it leaves the fleet",
  details: `
    Every key that speaks for the host ends, and rollouts no longer count it. What it runs goes on running; its watch says
    that it was removed, and asks no more.
  `,
  examples: [["A stolen machine", "$0 host remove harbour pier-7"]],
  async run({ client }, { options: { dryRun }, note, done }, [project, host]) {
    const [found] = await client.hostsWith({ host_id: host });
    if (!dryRun) await client.remove(host);
    note(`${dryRun ? "would remove" : "Removed"} ${host}.`);
    const invite = found?.invite_id;
    if (invite)
      note(
        `It came with ${invite}: while that is open, whoever has its token may join (\`sealift host invites ${project}\`).`,
      );
    return done({ host_id: host, dry_run: dryRun });
  },
});

export const hostCommands = [HostInvite, invites, revoke, list, approve, rename, remove];
