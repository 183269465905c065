import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { JoinedHost } from "../../lib/contract/joining/records.ts";
import { INVITE_FACTS, JOINED_FACTS } from "../../lib/contract/joining/shown.ts";
import type { KitRecord } from "../../lib/contract/kits/records.ts";
import { connection } from "../../lib/options/connection.ts";
import { hostRemoval } from "../../lib/options/joining.ts";
import { managed } from "../hub/managed.ts";
import { columnsOf, showList, timeText } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";

/** Returns the client of invites and hosts of a project. @throws as `idOf` of {@link managed} */
export async function hostsOf(options: Connected, text: string) {
  const [{ projectHosts }, { hub, client, idOf }] = await Promise.all([
    import("../../lib/client/joining.ts"),
    managed(options),
  ]);
  const id = await idOf(text);
  return { hub, keyService: client, id, client: projectHosts(hub, id) };
}

const ofProject = resource("host", ["PROJECT"], hostsOf);
const invitesOf = resource("invite", ["PROJECT"], hostsOf);
const ofHost = resource("host", ["PROJECT", "HOST"], (options, project) => hostsOf(options, project));
const ofInvite = resource("invite", ["PROJECT", "INVITE"], (options, project) => hostsOf(options, project));
const ofNames = resource("host", ["PROJECT", "HOST", "NAME"], (options, project) => hostsOf(options, project));

const invites = invitesOf("list", connection, {
  description: "List the invites of a project",
  examples: [["Which ones are open", "$0 invite list harbour"]],
  listed: async () => Object.keys((await import("../../lib/contract/joining/records.ts")).inviteRecord.shape),
  run: ({ client }, shell) =>
    showList(shell, {
      event: "invite",
      rows: client.listInvites(),
      columns: columnsOf(INVITE_FACTS),
      none: "No host was invited yet.",
    }),
});

const revoke = ofInvite("revoke", hostRemoval, {
  description: "Revoke an invite, such as one whose token was stolen",
  details:
    "Nobody joins with it any more, and hosts that wait for approval with it are refused. Hosts that have joined stay.",
  examples: [["A token was stolen", "$0 invite revoke harbour inv_…"]],
  async run({ client }, { options: { dryRun }, note, done }, [project, invite]) {
    const { hostsWith } = await import("../../lib/client/joining.ts");
    const hosts = (await hostsWith(client, { invite_id: invite })).map(({ host_id: host }) => host);
    if (!dryRun) await client.revokeInvite({ params: { invite } });
    note(`${dryRun ? "would revoke" : "Revoked"} ${invite}.`);
    if (hosts.length > 0)
      note(`Came with it: ${hosts.join(", ")}. \`sealift host remove ${project} HOST\` removes a host.`);
    return done({ id: invite, hosts, dry_run: dryRun });
  },
});

const list = ofProject("list", connection, {
  description: "List hosts that have joined a project, or wait for approval",
  examples: [["Who waits", "$0 host list harbour"]],
  listed: async () => Object.keys((await import("../../lib/contract/joining/records.ts")).joinedHost.shape),
  async run({ client }, shell) {
    const cloned: JoinedHost[] = [];
    async function* rows() {
      for await (const host of client.listJoined()) {
        if (host.clones.length > 0) cloned.push(host);
        yield host;
      }
    }
    const code = await showList(shell, {
      event: "host",
      rows: rows(),
      columns: columnsOf(JOINED_FACTS),
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
    await client.approveHost({ params: { host } });
    note(`${host} may join; it has its key when it asks the next time.`);
    return done({ host_id: host });
  },
});

const rename = ofNames("rename", connection, {
  description: "Give a host another name",
  details: `
    A host that waits for approval takes the name over by itself. One that has joined is refused under its old name from
    then on: put the new one into its watch.yaml (\`host_id\`) and start its watch again. One without network keeps its
    kits under the new name.
  `,
  examples: [["Two hosts were called localhost", "$0 host rename harbour localhost pier-7"]],
  async run({ client }, { note, done }, [, host, name]) {
    await client.renameHost({ params: { host }, body: { host_id: name } });
    note(`${host} is ${name} now. If it has joined, put host_id: ${name} into its watch.yaml.`);
    return done({ host_id: name, former_host_id: host });
  },
});

const remove = ofHost("remove", hostRemoval, {
  description: "Remove a host: its key ends at once, and it leaves the fleet",
  details: `
    Every key that speaks for the host ends, and rollouts no longer count it. What it runs goes on running; its watch says
    that it was removed, and asks no more. Kits that it can still open are named, also those of plugins and services, and
    those that were ended at the hub: whoever has the machine and the stick can open them. Its reports are refused from then on.
  `,
  examples: [["A stolen machine", "$0 host remove harbour pier-7"]],
  async run({ client, hub, id }, { options: { dryRun }, note, done }, [project, host]) {
    const { hostsWith } = await import("../../lib/client/joining.ts");
    const [found] = await hostsWith(client, { host_id: host });
    const kits = await openKits(hub, id, host);
    if (!dryRun) await client.removeHost({ params: { host } });
    note(`${dryRun ? "would remove" : "Removed"} ${host}.`);
    if (kits === undefined)
      note(
        `This API key may not list kits, so those that the host can open are not named: \`sealift kit list project:${id} --host ${host}\` names them to a key that may deploy or read.`,
      );
    if (kits !== undefined && kits.length > 0)
      note(
        `It can open these kits until they end: ${kits.map(({ id: kit, target, ended_at: ended, ends_at: end }) => `${kit} of ${target}${ended === null ? "" : ` (ended at the hub, opens on a host until ${end})`}`).join(", ")}.`,
      );
    const invite = found?.invite_id;
    if (invite)
      note(
        `It came with ${invite}: while that is open, whoever has its token may join (\`sealift invite list ${project}\`).`,
      );
    return done({ host_id: host, dry_run: dryRun, kits: kits?.map(({ id: kit }) => kit) ?? null });
  },
});

/**
 * Returns the kits that a host can open still, whether they were ended at the hub or not: that reaches no stick. None
 * where the hub knows no kits; undefined where the key may not list them.
 */
async function openKits(hub: HubConnection, projectId: string, host: string): Promise<KitRecord[] | undefined> {
  const [{ callsOf }, { listKits }, { SealiftError }] = await Promise.all([
    import("../../lib/client/calls.ts"),
    import("../../lib/contract/kits/routes.ts"),
    import("../../lib/contract/errors.ts"),
  ]);
  try {
    const kits = await Array.fromAsync(
      callsOf({ listKits }, hub, { id: projectId }).listKits({ query: { host_id: host } }),
    );
    return kits.filter(
      ({ ends_at: end, hosts }) =>
        Date.parse(end) > Date.now() &&
        hosts.some(({ host_id: name, removed_at: removed }) => name === host && removed === null),
    );
  } catch (error) {
    if (error instanceof SealiftError && error.status === 404) return [];
    if (error instanceof SealiftError && error.status === 403) return undefined;
    throw error;
  }
}

export const hostCommands = [invites, revoke, list, approve, rename, remove];
