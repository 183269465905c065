import { deploymentError } from "../contract/errors.ts";
import type { ManagedVersion } from "../contract/surfaces/keys.ts";
import { type Target, targetText } from "../contract/target.ts";
import type { HubConnection } from "./hub-connection.ts";

/** Most versions searched, those published last. */
const MOST_VERSIONS = 1000;

/** Publisher and approver of a version, by the names of their keys, and the kinds of its statements. */
export type VersionOrigin = Pick<ManagedVersion, "published_by" | "approved_by" | "statements">;

/**
 * Publishers and approvers of a target's versions, read from its hub page by page and only as far as needed: the newest
 * versions are one request.
 */
export class VersionOrigins {
  readonly #target: Target;
  readonly #hub: HubConnection;
  readonly #known = new Map<string, VersionOrigin>();
  #versions: AsyncGenerator<ManagedVersion> | undefined;

  constructor(target: Target, hub: HubConnection) {
    this.#target = target;
    this.#hub = hub;
  }

  /** Returns the origin of a version; undefined if the key may not know it, or the hub does not. Never rejects. */
  async of(version: string | null | undefined): Promise<VersionOrigin | undefined> {
    if (version === null || version === undefined) return undefined;
    this.#versions ??= listed(this.#target, this.#hub);
    while (!this.#known.has(version) && this.#known.size < MOST_VERSIONS) {
      // Hosts are what was requested: they are shown without their versions' origins, too.
      const next = await this.#versions.next().catch(() => undefined);
      if (next === undefined || next.done === true) break;
      const { version: label, published_by, approved_by, statements } = next.value;
      this.#known.set(label, { published_by, approved_by, ...(statements !== undefined && { statements }) });
    }
    return this.#known.get(version);
  }
}

/**
 * Finds the version of a target with these bytes, among those published last.
 *
 * @param sha256 hex digest of the artifact or archive
 * @throws DeploymentError `not_found`, and the hub's errors
 */
export async function versionOfBytes(target: Target, hub: HubConnection, sha256: string): Promise<ManagedVersion> {
  let seen = 0;
  for await (const version of listed(target, hub)) {
    if (version.sha256 === sha256) return version;
    if (++seen === MOST_VERSIONS) break;
  }
  throw deploymentError("not_found", `No version of ${targetText(target)} at ${hub.hubUrl} has these bytes.`, {
    hint: "`sealift version list` shows the digests of its versions. A delta is not a version of its own.",
  });
}

async function* listed(target: Target, hub: HubConnection): AsyncGenerator<ManagedVersion> {
  const [{ keyService }, { projectCalled }] = await Promise.all([import("./key-service.ts"), import("./lookup.ts")]);
  const client = keyService(hub);
  const id = target.kind === "project" ? target.slug : (await projectCalled(client, targetText(target))).id;
  yield* client.listVersions({ params: { id } });
}

/** Returns an origin in words: `ci, approved by anna (provenance, sbom)`; a dash for an unknown publisher. */
export function originText({ published_by: publisher, approved_by: approver, statements = [] }: VersionOrigin): string {
  const approved = approver === null || approver === undefined ? "" : `, approved by ${approver}`;
  return `${publisher ?? "–"}${approved}${statements.length === 0 ? "" : ` (${statements.join(", ")})`}`;
}
