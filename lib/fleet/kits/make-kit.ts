import { createHash } from "node:crypto";
import { MAX_PLAINTEXT_BYTES, NONCE_BYTES, TAG_BYTES } from "../../artifact/limits.ts";
import { newDek, sealed } from "../../artifact/project/cipher.ts";
import { isHubsWord, type ReadKit, readKitText } from "../../artifact/sealed/kit.ts";
import { callsOf } from "../../client/calls.ts";
import { DeployClient } from "../../client/deploy-client.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { MarketplaceClient } from "../../client/marketplace-client.ts";
import { StatementsClient } from "../../client/statements.ts";
import { hubRoots } from "../../client/trust-roots.ts";
import { artifactError, asSealiftError } from "../../contract/errors.ts";
import { KIT_BYTES_FILE, KIT_FILE, MAX_KIT_ROOTS } from "../../contract/kits/limits.ts";
import type { KitHost, MadeKit } from "../../contract/kits/records.ts";
import * as routes from "../../contract/kits/routes.ts";
import type { HubSays, KitText } from "../../contract/kits/texts.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { type Target, targetText } from "../../contract/target.ts";
import { otherAnswer, requireAsAsked } from "./as-asked.ts";
import { prepareStick, removeNew, requireRoom, writeNew } from "./stick.ts";

/** Kit to make. */
export interface KitOrder {
  hub: HubConnection;
  target: Target;
  /** Version label, or `latest`. */
  version: string;
  hosts: readonly KitHost[];
  /** Project of the hosts, for a plugin or service; undefined for hosts of none. */
  hostsProjectId?: string | undefined;
  /** Time after which hosts refuse it, in seconds. */
  lastsS: number;
  /** Folder of the kit, new or empty. */
  folder: string;
  /** Credential that authorizes deployments of a project. */
  deploymentCredential: string | undefined;
  signal: AbortSignal;
  /** Called with the bytes received so far and the total, if the hub states it. */
  onReceived?: (bytes: number, total: number | undefined) => void;
}

/** Time for which a hub is asked to end a kit that came onto no stick, in milliseconds. */
const END_WITHIN_MS = 10_000;

/** Called with a kit as soon as the hub has it, and with the id of its project, plugin or service. */
type OnMade = (kit: MadeKit, of: string) => void;

interface Packed {
  version: string;
  made: MadeKit;
  rootVersion: number | undefined;
}

/**
 * Makes a kit: the sealed bytes of a version, everything that a hub says of it, and its key, which the hub seals to
 * each host. `kit.json` comes last: without it there is no kit. A kit that came onto no stick is ended at the hub.
 *
 * @throws UsageError, AuthenticationError, ArtifactError, DeploymentError
 */
export async function makeKit(order: KitOrder): Promise<KitText> {
  const { target, folder, signal } = order;
  const hub = { ...order.hub, signal };
  await prepareStick(folder);
  let kept: { kit: string; of: string } | undefined;
  const onMade: OnMade = ({ id: kit }, of) => (kept = { kit, of });
  try {
    const { kind, slug } = target;
    const packed = await (kind === "project"
      ? packProject(order, hub, slug, onMade)
      : packArchive(order, hub, { kind, slug }, onMade));
    const { made, version, rootVersion } = packed;
    requireAsAsked(made, order);
    const { id, hub: url, digest, made_at, ends_at, hub_signature, hosts } = made;
    const says = saysIn(made);
    const text: KitText = {
      ...{ t: "sealift-kit", v: 1, id, hub: url, target: targetText(target), version, digest, made_at, ends_at },
      ...says,
      ...{ roots: await rootsOf(target, hub, rootVersion), provenance: await provenanceOf(target, version, says, hub) },
      ...{ hub_signature, hosts },
    };
    const json = JSON.stringify(text);
    const read = readAsHost(json);
    await writeNew(folder, KIT_FILE, [Buffer.from(`${json}\n`)]);
    return read;
  } catch (error) {
    await removeNew(folder, KIT_BYTES_FILE);
    if (kept !== undefined) {
      const ending = callsOf(routes, { ...order.hub, signal: AbortSignal.timeout(END_WITHIN_MS) });
      // Best effort: what keeps the kit from the stick may keep the hub from hearing of it.
      await ending.endKit({ params: { id: kept.of, kit: kept.kit } }).catch(() => undefined);
    }
    throw error;
  }
}

async function packProject(order: KitOrder, hub: HubConnection, projectId: string, onMade: OnMade): Promise<Packed> {
  const { hosts, lastsS, folder, onReceived, deploymentCredential } = order;
  const client = new DeployClient(projectId, hub);
  await client.authenticate();
  const version = order.version === "latest" ? await client.latestVersion() : order.version;
  const location = await client.locate(version);
  const { size_bytes: expectedBytes, root_version: rootVersion } = location;
  if (expectedBytes !== undefined) await requireRoom(folder, expectedBytes);
  // Before anything is fetched, the hub says whether the key and the credential may.
  const request = { version, hosts: [...hosts], lasts_s: lastsS, deployment_credential: deploymentCredential! };
  const made = await callsOf(routes, hub).makeProjectKit({ params: { id: projectId }, body: request });
  onMade(made, projectId);
  const limits = { maxBytes: MAX_PLAINTEXT_BYTES + NONCE_BYTES + TAG_BYTES, expectedBytes };
  const bytes = client.download(version, location, { ...limits, ...(onReceived && { onReceived }) });
  const { sha256 } = await writeNew(folder, KIT_BYTES_FILE, bytes);
  if (made.digest !== sha256) throw otherBytes(version);
  return { version, rootVersion, made };
}

async function packArchive(
  order: KitOrder,
  hub: HubConnection,
  target: { kind: MarketplaceKind; slug: string },
  onMade: OnMade,
): Promise<Packed> {
  const { hosts, hostsProjectId, lastsS, folder, onReceived } = order;
  const client = new MarketplaceClient(target.kind, target.slug, hub);
  const detail = await client.detail();
  const version = order.version === "latest" ? detail.latest_version : order.version;
  if (!version) throw artifactError("no_version", `No version of ${targetText(target)} is published yet.`);
  const { root_version: rootVersion } = detail;
  const { key, digest, sha256 } = await client.install(version, async (headers, body) => {
    // Called again where the connection is lost: another key, since no nonce is used twice with one.
    await removeNew(folder, KIT_BYTES_FILE);
    if (headers.size !== undefined) await requireRoom(folder, headers.size + NONCE_BYTES + TAG_BYTES);
    const key = newDek();
    const archive = measured(body, (bytes) => onReceived?.(bytes, headers.size));
    const { sha256: digest } = await writeNew(folder, KIT_BYTES_FILE, sealed(archive.bytes, key));
    return { key, digest, sha256: archive.sha256() };
  });
  const request = {
    ...{ version, hosts: [...hosts], lasts_s: lastsS, digest, key: key.toString("base64") },
    ...(hostsProjectId !== undefined && { hosts_project_id: hostsProjectId }),
  };
  const made = await callsOf(routes, hub).makeArchiveKit[target.kind]({ params: { slug: target.slug }, body: request });
  if (detail.id !== undefined) onMade(made, detail.id);
  if (made.digest !== digest || saysIn(made).archive?.sha256 !== sha256) throw otherBytes(version);
  return { version, rootVersion, made };
}

/** Reads a kit as a host reads it, before it is on the stick. @throws ArtifactError `bad_answer` */
function readAsHost(json: string): ReadKit {
  let kit: ReadKit;
  try {
    kit = readKitText(json);
  } catch (error) {
    throw otherAnswer(`no host could take it (${asSealiftError(error).message})`, error);
  }
  if (!isHubsWord(kit)) throw otherAnswer("its signature is not one of what it says");
  return kit;
}

/** Measures bytes as they pass. */
function measured(source: AsyncIterable<Buffer>, onBytes: (bytes: number) => void) {
  const hash = createHash("sha256");
  let size = 0;
  return {
    bytes: (async function* () {
      for await (const chunk of source) {
        hash.update(chunk);
        onBytes((size += chunk.length));
        yield chunk;
      }
    })(),
    sha256: () => hash.digest("hex"),
  };
}

/** Reads the versions of the trust root that the target follows; the newest ones of a long chain. */
async function rootsOf(target: Target, hub: HubConnection, newest = 0): Promise<string[]> {
  const origin = hubRoots(target, hub);
  const roots: string[] = [];
  for (let version = Math.max(1, newest - MAX_KIT_ROOTS + 1); version <= newest; version++) {
    const text = await origin.read(version, undefined);
    if (text !== undefined) roots.push(text);
  }
  return roots;
}

/**
 * Reads what the hub says of a version, unknown fields included: the terms bind all of them.
 *
 * @throws ArtifactError `bad_answer`
 */
function saysIn({ says }: MadeKit): HubSays {
  try {
    return JSON.parse(says) as HubSays;
  } catch (error) {
    throw otherAnswer("what it says of the version is not JSON", error);
  }
}

const otherBytes = (version: string) =>
  artifactError("artifact_changed", `The bytes of ${version} are not those of which the hub has the digest.`, {
    hint: "Have the kit made again; if it stays so, ask the hub's operator.",
  });

/** Reads the provenance that the hub says a version has. @returns base64; null for none */
async function provenanceOf(
  target: Target,
  version: string,
  { facts }: HubSays,
  hub: HubConnection,
): Promise<string | null> {
  const provenance = facts?.statements.find(({ kind }) => kind === "provenance");
  if (provenance === undefined) return null;
  const read = new StatementsClient(target, hub).read(version, provenance);
  return Buffer.concat(await Array.fromAsync(read, (chunk) => Buffer.from(chunk))).toString("base64");
}
