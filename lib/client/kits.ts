import type { KitRecord, KitReportsTaken, MadeKit } from "../contract/kits/records.ts";
import * as routes from "../contract/kits/routes.ts";
import type { MarketplaceKind } from "../contract/surfaces/paths.ts";
import { ask, type Asking, askPages, type RouteInput } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";

type BodyOf<R extends typeof routes.makeProjectKit | (typeof routes.makeArchiveKit)[MarketplaceKind]> =
  RouteInput<R>["body"];

/**
 * Client of kits for hosts without network (docs/contract/kits.md).
 *
 * @throws AuthenticationError, DeploymentError
 */
export class KitsClient {
  readonly #asking: Asking;

  constructor(hub: HubConnection) {
    this.#asking = { operation: "keys", hub };
  }

  /** Makes a kit of a project's version. @param id of the project */
  makeOfProject(id: string, body: BodyOf<typeof routes.makeProjectKit>): Promise<MadeKit> {
    return ask(routes.makeProjectKit, { params: { id }, body }, this.#asking);
  }

  /** Makes a kit of a plugin's or service's version. */
  makeOfArchive(
    { kind, slug }: { kind: MarketplaceKind; slug: string },
    body: BodyOf<(typeof routes.makeArchiveKit)[MarketplaceKind]>,
  ): Promise<MadeKit> {
    return ask(routes.makeArchiveKit[kind], { params: { slug }, body }, this.#asking);
  }

  /** Lists kits, newest first. @param id of the project, plugin or service */
  list(id: string, query: { host_id?: string; live?: boolean } = {}): AsyncGenerator<KitRecord> {
    const { live, ...host } = query;
    const asked = { ...host, ...(live === true && { live: "true" as const }) };
    return askPages(routes.listKits, { params: { id }, query: asked }, this.#asking);
  }

  /** Ends a kit at the hub. @param id of the project, plugin or service */
  end(id: string, kit: string): Promise<void> {
    return ask(routes.endKit, { params: { id, kit } }, this.#asking);
  }

  /** Hands in reports as their hosts have signed them: at most 50. */
  async submit(reports: string[]): Promise<KitReportsTaken["items"]> {
    return (await ask(routes.submitKitReports, { body: { reports } }, this.#asking)).items;
  }
}
