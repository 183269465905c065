import type { KitRecord } from "../../lib/contract/kits/records.ts";
import { kitEnd, kitList } from "../../lib/options/kits.ts";
import { managed } from "../hub/managed.ts";
import { showList } from "../shell/output/listing.ts";
import { resource } from "../shell/resource.ts";

async function kitsOf(options: Parameters<typeof managed>[0], target: string) {
  const [{ hub, idOf }, { callsOf }, { listKits, endKit }] = await Promise.all([
    managed(options),
    import("../../lib/client/calls.ts"),
    import("../../lib/contract/kits/routes.ts"),
  ]);
  return callsOf({ listKits, endKit }, hub, { id: await idOf(target) });
}

const stateOf = ({ ended_at: ended, ends_at: end }: KitRecord): string =>
  ended !== null ? `ended by hand ${ended}` : Date.parse(end) <= Date.now() ? `ended ${end}` : `until ${end}`;

export const KitList = resource("kit", ["TARGET"], kitsOf)("list", kitList, {
  description: "List the kits of a project, plugin or service",
  details: "Those of a project are also the kits of plugins and services that were made for its hosts.",
  examples: [
    ["Which are still taken", "$0 kit list project:prj_… --live"],
    ["What a stolen host can open", "$0 kit list project:prj_… --live --host pier-7"],
  ],
  listed: () => [
    "id",
    "target",
    "hosts_project_id",
    "version",
    "made_at",
    "ends_at",
    "ended_at",
    "made_by",
    "digest",
    "hosts",
  ],
  run: ({ listKits }, shell) => {
    const { ofHost, live } = shell.options;
    return showList(shell, {
      event: "kit",
      rows: listKits({ query: { host_id: ofHost, ...(live && { live }) } }),
      columns: {
        KIT: (kit: KitRecord) => kit.id,
        TARGET: (kit: KitRecord) => kit.target,
        VERSION: (kit: KitRecord) => kit.version,
        STATE: stateOf,
        HOSTS: (kit: KitRecord) =>
          kit.hosts
            .map(({ host_id: host, removed_at: removed }) => (removed === null ? host : `${host} (removed)`))
            .join(", "),
      },
      none: "There is no kit.",
    });
  },
});

export const KitEnd = resource("kit", ["TARGET", "KIT"], kitsOf)("end", kitEnd, {
  description: "End a kit at the hub",
  details: `
    Takes the kit off the list of live ones. A stick that is out there is not reached: hosts take it until its own end,
    and until they have accepted a newer one.
  `,
  examples: [["A stick was lost", "$0 kit end project:prj_… kit_…"]],
  async run({ endKit }, { note, done }, [, kit]) {
    await endKit({ params: { kit } });
    note("Ended at the hub. A stick that is under way is not reached: hosts take it until its own end.");
    return done({ kit });
  },
});
