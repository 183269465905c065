import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { KeyService } from "../../lib/client/key-service.ts";
import type { ProjectRecord } from "../../lib/contract/surfaces/keys.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import type { Connected } from "../shell/resource.ts";

/** Key service of a hub, with lookups by what people call things there. */
export interface Managed {
  hub: HubConnection;
  client: KeyService;
  /**
   * Returns the id of a project, plugin or service.
   *
   * @throws DeploymentError `not_found`; UsageError `usage` when several match
   */
  idOf: (text: string) => Promise<string>;
  /** Returns the record of a project, plugin or service. @throws as `idOf` */
  called: (text: string) => Promise<ProjectRecord>;
  /** Returns the id of an API key. @throws as `idOf` */
  keyIdOf: (text: string) => Promise<string>;
}

/** Returns the key service of the hub that a command's options name. */
export async function managed(options: Parameters<typeof hubConnection>[0]): Promise<Managed> {
  const [{ keyService }, { keyIdOf, projectCalled, projectIdOf }] = await Promise.all([
    import("../../lib/client/key-service.ts"),
    import("../../lib/client/lookup.ts"),
  ]);
  const hub = hubConnection(options, DEPLOY_TIMEOUT_MS);
  const client = keyService(hub);
  return {
    ...{ hub, client },
    idOf: (text) => projectIdOf(client, text),
    called: (text) => projectCalled(client, text),
    keyIdOf: (text) => keyIdOf(client, text),
  };
}

/** Returns the key service, and the id of a project, plugin or service. @throws as {@link Managed.idOf} */
export async function managedTarget(options: Connected, target: string) {
  const { client, idOf } = await managed(options);
  return { client, id: await idOf(target) };
}
