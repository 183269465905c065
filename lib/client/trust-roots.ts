import { artifactError, deploymentError } from "../contract/errors.ts";
import { baseUrl } from "../contract/surfaces/paths.ts";
import type { Target } from "../contract/target.ts";
import { MAX_ROOT_BYTES, mirroredRootPath, rootFileName } from "../contract/trust/marks.ts";
import type { RootRecord } from "../contract/trust/routes.ts";
import * as routes from "../contract/trust/routes.ts";
import { ifFound, readText, statusError } from "./answers.ts";
import { ask, type Asking, requestOf } from "./ask.ts";
import { MIRROR_TIMEOUT_MS } from "./download.ts";
import { type HttpRequest, send, type Transport, transportError } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";

/** Place from which versions of a trust root come. */
export interface RootOrigin {
  /** Name in messages. */
  name: string;
  /**
   * Returns a version's document; undefined where the place has none.
   *
   * @param id of the root; undefined until its first version is known
   * @throws ArtifactError `trust_root_invalid` for an answer that is too large, and others
   */
  read(version: number, id: string | undefined): Promise<string | undefined>;
}

async function documentAt(request: HttpRequest, transport: Transport): Promise<string | undefined> {
  const response = await send(request, transport);
  try {
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw await statusError(response, request);
    return await readText(response, request, MAX_ROOT_BYTES);
  } catch (error) {
    if (error instanceof RangeError)
      throw artifactError("trust_root_invalid", `${response.url} is not a trust root: ${error.message}.`, {
        cause: error,
        hint: "Nothing was changed. Ask whoever serves it.",
      });
    throw transportError(error, request, response.url, transport);
  } finally {
    if (!response.body.destroyed) response.discard();
  }
}

/** Returns the root that a target follows at its hub. */
export function hubRoots({ kind, slug }: Target, hub: HubConnection): RootOrigin {
  const asking: Asking = { operation: "location", hub };
  return {
    name: "the hub",
    read: (version) => {
      const request =
        kind === "project"
          ? requestOf(routes.readProjectRoot, { params: { project_id: slug, version: String(version) } }, asking)
          : requestOf(routes.readTargetRoot[kind], { params: { slug, version: String(version) } }, asking);
      return documentAt(request, hub);
    },
  };
}

/** Returns a folder of a web server that has the files `1.root.json`, `2.root.json` and so on. It gets no key. */
export function webRoots(folder: string, transport: Transport): RootOrigin {
  const base = folder.replace(/\/+$/, "");
  const { hubUrl: _hub, ...others } = transport;
  return {
    name: base,
    read: (version) =>
      documentAt({ operation: "download", method: "GET", url: `${base}/${rootFileName(version)}` }, others),
  };
}

/** Returns the roots that a mirror has, by their ids: a host asks for further versions of the one that it has. */
export function mirroredRoots(mirror: string, transport: Transport): RootOrigin {
  const { hubUrl: _hub, timeoutMs, ...others } = transport;
  const limited = { ...others, timeoutMs: Math.min(timeoutMs, MIRROR_TIMEOUT_MS) };
  return {
    name: `the mirror ${new URL(mirror).origin}`,
    async read(version, id) {
      if (id === undefined) return undefined;
      const url = baseUrl(mirror) + mirroredRootPath(id, version);
      return documentAt({ operation: "download", method: "GET", url }, limited);
    },
  };
}

/**
 * Returns the root that a target follows at a hub; undefined for none, also at a hub that knows no roots.
 *
 * @param id of the project, plugin or service
 */
export const rootOfTarget = (hub: HubConnection, id: string): Promise<RootRecord | undefined> =>
  ifFound(ask(routes.followedRoot, { params: { id } }, { operation: "keys", hub }));

/** Returns the newest document of the root that a target follows; undefined for none. @param id of the target */
export async function newestRootOf(hub: HubConnection, id: string): Promise<string | undefined> {
  const root = await rootOfTarget(hub, id);
  return root && (await readRootVersion(hub, root.id, root.version));
}

/** Returns the document of a version. @throws DeploymentError `not_found` */
export async function readRootVersion(hub: HubConnection, root: string, version: number): Promise<string> {
  const asking: Asking = { operation: "keys", hub };
  const request = requestOf(routes.readRoot, { params: { root, version: String(version) } }, asking);
  const text = await documentAt(request, hub);
  if (text !== undefined) return text;
  throw deploymentError("not_found", `The hub has no version ${version} of the trust root ${root}.`);
}
