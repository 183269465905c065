import { connection } from "../../lib/options/connection.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { showList } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";

/** Most versions of a day that people are shown. */
const SHOWN_VERSIONS = 5;

/** Reads the days of a fleet. @throws DeploymentError; AuthenticationError on 401 and 403 */
async function daysOf(options: Connected, called: string) {
  const [{ targetCalled }, { readAdoption }] = await Promise.all([
    import("../../lib/client/lookup.ts"),
    import("../../lib/client/fleet.ts"),
  ]);
  const hub = hubConnection(options, MARKETPLACE_TIMEOUT_MS);
  return (await readAdoption(await targetCalled(hub, called), hub)).days;
}

type Day = Awaited<ReturnType<typeof daysOf>>[number];
const sumOf = (versions: Day["versions"]): number => versions.reduce((sum, { hosts }) => sum + hosts, 0);

function versionsText({ versions }: Day): string {
  const others = versions.slice(SHOWN_VERSIONS);
  return [
    ...versions.slice(0, SHOWN_VERSIONS).map(({ version, hosts }) => `${version} on ${hosts}`),
    ...(others.length === 0 ? [] : [`${others.length} other versions on ${sumOf(others)}`]),
  ].join(", ");
}

const ofFleet = resource("fleet", ["TARGET"], daysOf);

export const fleetAdoption = ofFleet("adoption", connection, {
  category: "Hosts",
  description: "Show a fleet's hosts by version, day by day",
  details: `
    The last 30 days, in UTC, oldest first: the hosts by the version of their last deployment, and how many had a
    deployment that failed on that day. The live view of \`sealift fleet\` and the hub's page draw the same.
  `,
  examples: [
    ["How a version spread", "$0 fleet adoption plugin:tide-table"],
    ["For a spreadsheet", "$0 fleet adoption plugin:tide-table --csv"],
  ],
  listed: async () =>
    Object.keys((await import("../../lib/contract/fleets/adoption.ts")).fleetAdoption.shape.days.element.shape),
  run: (days, shell) =>
    showList(shell, {
      event: "day",
      rows: days,
      columns: {
        DAY: ({ day }) => day,
        HOSTS: ({ versions }) => String(sumOf(versions)),
        FAILED: ({ failing }) => String(failing),
        VERSIONS: versionsText,
      },
    }),
});
