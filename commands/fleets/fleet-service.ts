import { connection } from "../../lib/options/connection.ts";
import { fleetOut } from "../../lib/options/labels.ts";
import { managed } from "../hub/managed.ts";
import { resource } from "../shell/resource.ts";

const ofHost = resource("fleet", ["TARGET", "HOST"], async (options, target) => {
  const { client, idOf } = await managed(options);
  return { client, id: await idOf(target) };
});

export const fleetOutOfService = ofHost("out", fleetOut, {
  description: "Take a host out of service: no rollout waits for it",
  details: `
    While a machine is mended, rollouts neither count the host nor wait for it, and what fails there halts none. It goes
    on taking versions. Fleets show the reason, and webhooks hear of it, until \`fleet back\`.
  `,
  examples: [["While its disk is replaced", '$0 fleet out Harbour web-1 --reason "new disk"']],
  async run({ client, id }, { options: { reason }, note, done }, [target, host]) {
    await client.serveHost({ params: { id, host_id: host }, body: { out_of_service: reason } });
    note(`${host} is out of service: ${reason}`);
    return done({ target, host_id: host, out_of_service: reason });
  },
});

export const fleetBack = ofHost("back", connection, {
  description: "Take a host back into service after `fleet out`",
  examples: [["It has its new disk", "$0 fleet back Harbour web-1"]],
  async run({ client, id }, { note, done }, [target, host]) {
    await client.serveHost({ params: { id, host_id: host }, body: { out_of_service: null } });
    note(`${host} is in service.`);
    return done({ target, host_id: host, out_of_service: null });
  },
});
