import { STOPPED_FOLDER } from "../../contract/files/application-names.ts";
import { readGrants } from "../../releases/applications.ts";
import type { Layout } from "../../releases/layout.ts";
import { instanceOf } from "./application-units.ts";
import { inquire, READY_TIMEOUT_MS } from "./supervisor.ts";
import { systemctl, type SystemdScope } from "./systemd-units.ts";

/** Describes the unit of an application that does not know of being stopped: an earlier version has written it. */
export async function staleUnit(
  layout: Layout,
  id: string,
  scope: SystemdScope,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if ((await readGrants(layout))?.supervisor !== "systemd") return undefined;
  const { instance } = await instanceOf(scope, layout.root, id, signal);
  if (instance === undefined) return undefined;
  const { code, stdout } = await inquire(systemctl(scope, "cat", `sealift-app@${instance}.service`), READY_TIMEOUT_MS);
  if (code !== 0 || stdout.includes(`/${STOPPED_FOLDER}/${id}\n`)) return undefined;
  return `The unit of ${id} is of an earlier version, and the next boot starts it: run \`sealift systemd install app ${id}\` again as root.`;
}
