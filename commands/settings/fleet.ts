import type { Judged } from "../../lib/fleet/admission.ts";
import type { Fleet } from "../../lib/fleet/fleet-file.ts";
import type { Roll } from "../../lib/fleet/roll.ts";
import { managed } from "../hub/managed.ts";
import type { Connected } from "../shell/resource.ts";

/** Fleet file with its roll, and the client of its project. */
export type OpenedFleet = Awaited<ReturnType<typeof openFleet>>;

/** Returns a fleet file, its roll, and the client of its project. @throws as `readFleetFile` and `idOf` of `managed` */
export async function openFleet(options: Connected, file: string) {
  const [{ readFleetFile }, { Roll }, { SettingsClient }] = await Promise.all([
    import("../../lib/fleet/fleet-file.ts"),
    import("../../lib/fleet/roll.ts"),
    import("../../lib/client/settings.ts"),
  ]);
  const fleet: Fleet = await readFleetFile(file);
  const { hub, idOf } = await managed(options);
  const id = await idOf(fleet.project);
  const roll: Roll = await Roll.read(fleet.lockFile, id);
  return { fleet, roll, hub, id, client: new SettingsClient(hub, id) };
}

/**
 * Judges all hosts of a project at its hub.
 *
 * @param operator public key, hexadecimal
 * @param replaces whether settings are replaced that another program has uploaded
 */
export async function judgedAt({ client, roll }: OpenedFleet, operator: string, replaces = false): Promise<Judged[]> {
  const { judged } = await import("../../lib/fleet/admission.ts");
  const rows = await Array.fromAsync(client.list());
  return judged(rows, roll, { operator, project: roll.project, replaces });
}
